//! Ties settings, trust and repository together: what holds in a folder. Must not know sessions.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::git;
use crate::settings::{Effective, Layers, Project, SettingsError, Sources, Where};
use crate::trust::Trust;

/// What is said on the command line of settings and trust.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// `--settings`: a file, or an object.
    pub settings: Option<String>,
    /// `--setting-sources`.
    pub sources: Sources,
    /// `--trust`: whether this run trusts the folder it works in.
    pub trust: bool,
}

/// A folder, and what holds in it.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The settings.
    pub settings: Effective,
    /// Whether the folder is trusted.
    pub trusted: bool,
    /// Where the user's own settings of the project are: the repository's root, else the folder itself.
    pub root: PathBuf,
    /// The folder that would be trusted: the repository's root where trust in it would do, else the
    /// folder itself.
    pub to_trust: PathBuf,
    /// Whether trust would change something.
    pub wants_trust: bool,
    /// What a person should know.
    pub notices: Vec<String>,
}

impl Workspace {
    /// Looks at a folder, absolute and resolved. Starts nothing.
    pub fn look(environment: &Environment, cwd: &Path, choices: &Choices) -> Result<Self, SettingsError> {
        let repository = git::root(cwd);
        let root = repository.clone().unwrap_or_else(|| cwd.to_path_buf());
        let project = Some(Project { cwd, root: &root });
        let flag = choices.settings.as_deref();
        let layers = Layers::read(&Where { environment, project, flag, sources: choices.sources })?;
        let trust = Trust::read(environment, choices.trust, &layers.trusted_folders());
        let trusted = trust.covers(cwd);
        let whole = cwd.starts_with(&root) && !trust.stands_alone(&root);
        let to_trust = if whole { root.clone() } else { cwd.to_path_buf() };
        let wants_trust = !trusted && (layers.want_trust() || repository.is_some());
        let settings = layers.settle(|folder| trust.covers(folder))?;
        let notices = trust.notices.iter().chain(&settings.notices).cloned().collect();
        Ok(Self { settings, trusted, root, to_trust, wants_trust, notices })
    }
}

/// The settings that hold wherever one works.
pub fn everywhere(environment: &Environment) -> Result<Effective, SettingsError> {
    let at = Where { environment, project: None, flag: None, sources: Sources::default() };
    Layers::read(&at)?.settle(|_| false)
}
