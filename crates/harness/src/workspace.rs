//! Ties settings, trust and repository together: what holds in a folder. Must not know sessions.

use std::path::{Path, PathBuf};

use kernel::Origin;

use crate::environment::Environment;
use crate::git;
use crate::settings::{
    Effective, Layers, List, Project, Saved, Scope, SettingsError, Sources, Where, add_rule, remove_rule,
};
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

/// Saves a rule for the project at `cwd` or for everywhere. One for the project holds once it is trusted.
pub fn keep_rule(
    environment: &Environment,
    cwd: &Path,
    scope: Scope,
    list: List,
    rule: &str,
) -> Result<Saved, SettingsError> {
    at(environment, cwd, |at| add_rule(at, scope, list, rule))
}

/// Takes a rule back where its layer has files that are the user's to change. Gives the files.
pub fn revoke_rule(
    environment: &Environment,
    cwd: &Path,
    origin: Origin,
    list: List,
    rule: &str,
) -> Result<Vec<PathBuf>, SettingsError> {
    at(environment, cwd, |at| remove_rule(at, origin, list, rule))
}

fn at<T>(environment: &Environment, cwd: &Path, use_it: impl FnOnce(&Where<'_>) -> T) -> T {
    let root = git::root(cwd).unwrap_or_else(|| cwd.to_path_buf());
    let project = Some(Project { cwd, root: &root });
    use_it(&Where { environment, project, flag: None, sources: Sources::default() })
}

/// The settings that hold wherever one works.
pub fn everywhere(environment: &Environment) -> Result<Effective, SettingsError> {
    let at = Where { environment, project: None, flag: None, sources: Sources::default() };
    Layers::read(&at)?.settle(|_| false)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Stage {
        folder: tempfile::TempDir,
        environment: Environment,
    }

    impl Stage {
        fn new(folders: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            folders.iter().for_each(|name| fs::create_dir_all(top.join(name)).unwrap());
            let environment = Environment::of([("HOME".into(), top.join("home").into())]);
            Self { folder, environment }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(name)
        }

        fn look(&self, cwd: &str) -> Workspace {
            Workspace::look(&self.environment, &self.path(cwd), &Choices::default()).unwrap()
        }
    }

    /// From the rule that a person grants to the rule that holds, and back.
    #[test]
    fn a_rule_for_the_project_holds_once_it_is_trusted() {
        let stage = Stage::new(&["home/code/repo/.git", "home/code/repo/deep"]);
        let cwd = stage.path("home/code/repo/deep");
        let saved = keep_rule(&stage.environment, &cwd, Scope::Local, List::Allow, "Bash(make)").unwrap();
        assert_eq!(saved.path, stage.path("home/code/repo/.rsagent/settings.local.json"));
        let allowed = |workspace: &Workspace| workspace.settings.settings.permissions.allow.clone();
        let workspace = stage.look("home/code/repo/deep");
        assert_eq!((workspace.trusted, workspace.wants_trust, allowed(&workspace)), (false, true, Vec::new()));
        assert_eq!(workspace.to_trust, stage.path("home/code/repo"));
        crate::trust::save(&stage.environment, &workspace.to_trust).unwrap();
        let workspace = stage.look("home/code/repo/deep");
        assert_eq!((workspace.trusted, workspace.wants_trust), (true, false));
        assert_eq!(allowed(&workspace), ["Bash(make)"]);
        revoke_rule(&stage.environment, &cwd, Origin::Local, List::Allow, "Bash(make)").unwrap();
        assert_eq!(allowed(&stage.look("home/code/repo/deep")), Vec::<String>::new());
    }

    /// Trust in a folder does not reach the settings of a repository above it.
    #[test]
    fn the_root_is_trusted_by_itself() {
        let stage = Stage::new(&["home/.git", "home/code/.rsagent", "home/.rsagent"]);
        let local = |name: &str| {
            let text = format!(r#"{{"permissions": {{"allow": ["Bash({name})"]}}}}"#);
            let file =
                if name == "root" { "home/.rsagent/settings.local.json" } else { "home/code/.rsagent/settings.json" };
            fs::write(stage.path(file), text).unwrap();
        };
        local("root");
        local("own");
        let workspace = stage.look("home/code");
        // The whole home folder is more than anybody means by a yes in one project.
        assert_eq!((workspace.root, &workspace.to_trust), (stage.path("home"), &stage.path("home/code")));
        crate::trust::save(&stage.environment, &workspace.to_trust).unwrap();
        let workspace = stage.look("home/code");
        assert_eq!(
            (workspace.trusted, workspace.settings.settings.permissions.allow),
            (true, vec!["Bash(own)".into()])
        );
    }
}
