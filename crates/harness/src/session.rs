//! Owns a session: a model, tools, permissions and features tied to one conversation, and the
//! operations that an entry layer has on it. Must not know who shows its events or answers its
//! questions.

use std::path::PathBuf;
use std::sync::Arc;

use kernel::query::{Meter, compact_now};
use kernel::{
    Answer, Block, Conversation, Draft, EpochKind, EventStream, Gate, Init, Mode, Origin, Place, Prefix, QueryParams,
    Questions, RetryBudget, Rules, SharedConversation, ToolPool, Usage, query,
};
use models::{Connection, Effort, RegistryError};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tools::sandbox::{Jail, Profile, Unavailable};

use crate::connect::{connect, split};
use crate::context::without_thinking;
use crate::environment::Environment;
use crate::explain::{Explained, explain};
use crate::features::Features;
use crate::sandbox::{Request, confine};
use crate::settings::{Effective, FlagRules, SettingsError};
use crate::toolset::Toolset;
use crate::workspace::{Choices, Workspace};
use crate::{defaults, git, memory, prompt};

/// Further attempts of a prompt: about a minute of an overloaded server.
const RETRIES: u32 = 6;
/// The variable that sets another number of them.
const RETRIES_VARIABLE: &str = "RSAGENT_MAX_RETRIES";

/// What a session is opened with.
#[derive(Debug, Clone, Default)]
pub struct SessionConfig {
    /// The surroundings.
    pub environment: Environment,
    /// The working folder; it is also the root of the workspace.
    pub cwd: PathBuf,
    /// Further folders of the workspace.
    pub add_dirs: Vec<PathBuf>,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--fallback-model`: who answers when the model cannot, as `MODEL` or `PROVIDER/MODEL`.
    pub fallback_model: Option<String>,
    /// `--effort`.
    pub effort: Option<Effort>,
    /// `--thinking`.
    pub thinking: Option<bool>,
    /// `--record`: a file in which everything is written down that the model is asked and says.
    pub record: Option<PathBuf>,
    /// `--replay`: such a file, which answers in the model's place.
    pub replay: Option<PathBuf>,
    /// `--mode`: the permission mode; the settings' where it is not given.
    pub mode: Option<Mode>,
    /// Which settings there are, and whether the folder is trusted.
    pub choices: Choices,
    /// Rules of the command line.
    pub rules: FlagRules,
    /// `--tools`.
    pub tools: Toolset,
    /// `--sandbox`, which goes before the settings.
    pub sandbox: Option<Profile>,
    /// This program, which is the helper in its sandbox.
    pub helper: Option<PathBuf>,
    /// Bound of model calls per prompt.
    pub max_turns: Option<u32>,
    /// `--max-budget-usd`: what the session may cost, in US dollars.
    pub max_budget: Option<f64>,
    /// Text after the system prompt.
    pub append_system: Option<String>,
    /// Whether a person is there to be asked.
    pub can_ask: bool,
    /// Whether `terminal` events carry the final history.
    pub report_messages: bool,
}

/// Why a session could not be opened or changed. Each says what to do.
#[derive(Debug, Error)]
pub enum SessionError {
    /// Settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Provider or model.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A folder that is not there.
    #[error("cannot use folder {path}: {fault}. Give a folder that exists")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        fault: std::io::Error,
    },
    /// A mode that settings have switched off.
    #[error("mode {mode} is switched off by {}. Choose another mode", path.display())]
    Mode {
        /// The mode.
        mode: Mode,
        /// The settings file.
        path: PathBuf,
    },
    /// A budget for a model whose price is not known.
    #[error(
        "--max-budget-usd cannot be kept: the price of {model} is not known. Set models.{model}.prices in the settings file, or leave the budget out"
    )]
    Price {
        /// The model.
        model: String,
    },
    /// `--tools` names what is no tool.
    #[error("--tools: there is no tool {name:?}. The tools are {known}; `default` is all of them, `minimal` a few")]
    Tool {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The history cannot be changed now.
    #[error("the model stays as it is: {0}")]
    History(#[from] kernel::Fault),
    /// The sandbox that was asked for is not to be had, and nothing runs without it.
    #[error(transparent)]
    Sandbox(#[from] Unavailable),
    /// A variable with a value that means nothing.
    #[error("{name}={value} is not a number. Set a whole number or unset it")]
    Variable {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
    },
}

impl SessionError {
    /// Whether it is the command line that is wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Settings(SettingsError::Rule { place, .. }) => place.starts_with("--"),
            Self::Settings(SettingsError::Flag(_)) | Self::Mode { .. } => true,
            Self::Settings(_) | Self::Variable { .. } | Self::History(_) | Self::Sandbox(_) => false,
            Self::Price { .. } | Self::Tool { .. } => true,
            Self::Registry(fault) => {
                matches!(fault, RegistryError::UnknownProvider { .. } | RegistryError::NoModel { .. })
            }
            Self::Folder { .. } => true,
        }
    }
}

/// One conversation and what works on it. One prompt runs at a time.
pub struct Session {
    config: SessionConfig,
    settings: Effective,
    connection: Connection,
    params: QueryParams,
    questions: Option<Arc<Questions>>,
    jail: Jail,
    features: Features,
    /// Further attempts of each prompt.
    retries: u32,
    notices: Vec<String>,
}

impl Session {
    /// Opens a session. Reads settings and memory; starts nothing and connects to nothing.
    pub fn open(mut config: SessionConfig) -> Result<Self, SessionError> {
        config.cwd = resolve(&config.cwd)?;
        let Workspace { settings, trusted, notices: mut warnings, .. } =
            Workspace::look(&config.environment, &config.cwd, &config.choices)?;
        let commands = config.environment.with(&settings.settings.env);
        config.environment = config.environment.with(&settings.own_variables());
        let environment = config.environment.clone();
        let given = config.add_dirs.iter().map(|path| resolve(&config.cwd.join(path)));
        config.add_dirs = given.collect::<Result<_, _>>()?;
        warnings.extend(defaults::apply(&mut config, &settings)?);
        let (rules, told) = settings.rules(&config.rules, &tools::builtin_deny())?;
        warnings.extend(told);
        let mode = config.mode.unwrap_or_default();
        let connection = connect(&config, &settings, config.provider.as_deref(), config.model.as_deref())?;
        let jail = Jail::default();
        let profile = config.sandbox.map_or_else(|| settings.settings.sandbox.profile(), Ok)?;
        jail.set(confine(&request(&config, profile), &settings.settings.sandbox)?);
        let meter = Meter::default();
        let features = Features::new(&config, &connection, &meter)?;
        let extensions = features.list();
        // No command sees a key of ours, whatever its variable is called.
        let providers = settings.settings.providers.values();
        let keys: Vec<String> = providers.filter_map(|other| other.api_key_env.clone()).collect();
        let all = ToolPool::new(
            tools::builtin(commands.variables(), &keys, &jail)
                .into_iter()
                .chain(extensions.iter().flat_map(|feature| feature.tools())),
        );
        warnings.extend(unknown(&rules, &all.names()));
        warnings.extend(connection.unmet.iter().cloned());
        warnings.extend(jail.weakness());
        if let Some(name) = config.tools.unknown(&all.names()) {
            return Err(SessionError::Tool { name: name.to_owned(), known: all.names().join(", ") });
        }
        let pool = all.filtered(|name| config.tools.has(name) && !rules.removes(name));
        let questions = config.can_ask.then(Arc::<Questions>::default);
        let gate = Gate::new(mode, rules, questions.clone());
        let place = Place {
            cwd: config.cwd.clone(),
            roots: [config.cwd.clone()].into_iter().chain(config.add_dirs.clone()).collect(),
            home: environment.home(),
            trusted,
        };
        let (prefix, notices) = assemble(&config, &pool);
        warnings.extend(notices);
        let params = QueryParams {
            model: connection.model.clone(),
            model_id: connection.model_id.clone(),
            max_tokens: connection.max_tokens,
            conversation: SharedConversation::new(Conversation::new(prefix)),
            max_turns: config.max_turns,
            retries: RetryBudget::new(0),
            meter,
            cancel: CancellationToken::new(),
            init: Init {
                session_id: uuid::Uuid::new_v4().to_string(),
                model: connection.model_id.clone(),
                provider: connection.provider.clone(),
                mode,
                tools: pool.names(),
                cwd: config.cwd.clone(),
                sandbox: jail.level(),
            },
            announce: true,
            prompt: Vec::new(),
            origin: "person".into(),
            report_messages: config.report_messages,
            tools: pool,
            gate,
            extensions,
            place: Arc::new(place),
        };
        let retries = number(&environment, &[RETRIES_VARIABLE])?.unwrap_or(RETRIES);
        Ok(Self { config, settings, connection, params, questions, jail, features, retries, notices: warnings })
    }

    /// Answers a prompt. The first stream of a session begins with `init`.
    pub fn prompt(&mut self, text: &str) -> EventStream {
        let params = self.next(vec![Block::text(text)]);
        self.params.announce = false;
        query(params)
    }

    /// Summarises the history now.
    pub fn compact(&mut self) -> EventStream {
        compact_now(self.next(Vec::new()))
    }

    fn next(&mut self, prompt: Vec<Block>) -> QueryParams {
        self.params.cancel = CancellationToken::new();
        QueryParams { prompt, retries: RetryBudget::new(self.retries), ..self.params.clone() }
    }

    /// What interrupts the prompt that was started last.
    pub fn interrupter(&self) -> CancellationToken {
        self.params.cancel.clone()
    }

    /// Answers a permission question. `false` when it waits no more.
    pub fn answer(&self, request_id: &str, answer: Answer) -> bool {
        self.questions.as_ref().is_some_and(|questions| questions.answer(request_id, answer))
    }

    /// Answers a permission question with *always*: for the rest of the session the rules hold that it showed.
    /// `false` when it waits no more.
    pub fn always(&self, request_id: &str, suggestions: &[String]) -> bool {
        let rules = suggestions.iter().filter_map(|text| tools::rules::grammar::parse(text, Origin::Session).ok());
        self.answer(request_id, Answer::Always(rules.collect()))
    }

    /// Forgets the conversation; memory files and the branch are read anew.
    pub fn clear(&mut self) {
        let (prefix, notices) = assemble(&self.config, &self.params.tools);
        self.notices = notices;
        let fresh = Draft { kind: EpochKind::Fresh, messages: Vec::new() };
        // An empty history is always valid.
        let _ = self.params.conversation.lock().open_epoch(fresh, Some(prefix));
    }

    /// The permission mode.
    pub fn mode(&self) -> Mode {
        self.params.gate.mode()
    }

    /// Changes the permission mode, unless settings have switched it off.
    pub fn set_mode(&mut self, mode: Mode) -> Result<(), SessionError> {
        defaults::may_use(mode, &self.settings)?;
        self.params.gate.set_mode(mode);
        self.params.init.mode = mode;
        Ok(())
    }

    /// Whether the folder is trusted: if not, its settings only narrow.
    pub fn trusted(&self) -> bool {
        self.params.place.trusted
    }

    /// The settings in force.
    pub fn settings(&self) -> &Effective {
        &self.settings
    }

    /// Why a command line may run or not, as things are now. Runs nothing.
    pub fn explain(&self, command: &str) -> Explained {
        explain(command, self.mode(), &self.params.gate.rules(), &self.params.place)
    }

    /// The provider's name and the model's id.
    pub fn model(&self) -> (&str, &str) {
        (&self.connection.provider, &self.connection.model_id)
    }

    /// Changes the model: `MODEL` at the same provider, `PROVIDER/MODEL`, or `PROVIDER` for its own model.
    /// Gives what a person should know of it. Thinking that the new model cannot take stays out from now on.
    pub fn set_model(&mut self, name: &str) -> Result<Vec<String>, SessionError> {
        let (provider, model) = split(&self.settings.settings, name, &self.connection.provider)?;
        let connection = connect(&self.config, &self.settings, Some(&provider), model.as_deref())?;
        self.features.adapt(&self.config, &connection)?;
        let mut told = connection.unmet.clone();
        let before = &self.connection;
        let reads = connection.provider == before.provider
            && (connection.model_id == before.model_id || connection.facts.thinking.reads(&before.model_id));
        if !reads {
            let mut conversation = self.params.conversation.lock();
            if let Some(draft) = without_thinking(&conversation) {
                conversation.open_epoch(draft, None)?;
                told.push(format!("the thinking of {} is left out from now on", before.model_id));
            }
        }
        self.params.model = connection.model.clone();
        self.params.model_id = connection.model_id.clone();
        self.params.max_tokens = connection.max_tokens;
        self.params.init.model = connection.model_id.clone();
        self.params.init.provider = connection.provider.clone();
        self.connection = connection;
        Ok(told)
    }

    /// The sandbox in use: profile and layer, or `off`.
    pub fn sandbox(&self) -> String {
        self.jail.level()
    }

    /// Changes the sandbox, for commands that begin from now on. On an error it stays as it is.
    /// Gives what a person should know of it.
    pub fn set_sandbox(&mut self, profile: Profile) -> Result<Vec<String>, SessionError> {
        self.jail.set(confine(&request(&self.config, profile), &self.settings.settings.sandbox)?);
        self.params.init.sandbox = self.jail.level();
        Ok(self.jail.weakness().into_iter().collect())
    }

    /// Tokens of the session so far, subagents included.
    pub fn usage(&self) -> Usage {
        self.params.meter.total()
    }

    /// The working folder.
    pub fn cwd(&self) -> &std::path::Path {
        &self.config.cwd
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.params.init.session_id
    }

    /// The system prompt as text, with the cache boundary marked.
    pub fn system(&self) -> String {
        prompt::show(&self.params.conversation.lock().prefix().system)
    }

    /// What did not go as it should while the session was opened.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }
}

fn request(config: &SessionConfig, profile: Profile) -> Request<'_> {
    Request {
        profile,
        layer: None,
        environment: &config.environment,
        cwd: &config.cwd,
        roots: [config.cwd.clone()].into_iter().chain(config.add_dirs.clone()).collect(),
        helper: config.helper.as_deref(),
    }
}

/// Rules that have no effect: a misspelt deny rule would protect from nothing in silence.
fn unknown(rules: &Rules, known: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    for rule in rules.allow.iter().chain(&rules.ask).chain(&rules.deny) {
        let named = known.contains(&rule.tool) || rule.tool == "Edit" || rule.tool.contains('*');
        if !named {
            let origin = rule.origin;
            let list = known.join(", ");
            warnings.push(format!("rule {rule} ({origin}) names no tool; the tools are {list}, and Edit in rules"));
        }
    }
    warnings
}

/// A variable that holds a whole number.
pub(crate) fn number<T: std::str::FromStr>(
    environment: &Environment,
    names: &[&str],
) -> Result<Option<T>, SessionError> {
    let Some((name, value)) = environment.first(names) else { return Ok(None) };
    let fault = || SessionError::Variable { name: name.to_owned(), value: value.to_owned() };
    value.trim().parse().map(Some).map_err(|_| fault())
}

fn assemble(config: &SessionConfig, tools: &ToolPool) -> (Prefix, Vec<String>) {
    let folder = config.environment.settings_folder();
    let (memory, notices) = memory::load(folder.as_deref(), &config.cwd);
    let memory: Vec<_> = memory.into_iter().map(|file| (file.path, file.text)).collect();
    let system = prompt::assemble(prompt::Facts {
        minimal: config.tools == Toolset::Minimal,
        cwd: &config.cwd,
        added: &config.add_dirs,
        branch: git::branch(&config.cwd).as_deref(),
        platform: std::env::consts::OS,
        memory: &memory,
        appended: config.append_system.as_deref(),
    });
    (Prefix::new(system, tools.specs()), notices)
}

pub(crate) fn resolve(path: &std::path::Path) -> Result<PathBuf, SessionError> {
    let folder = path.canonicalize().and_then(|path| match path.is_dir() {
        true => Ok(path),
        false => Err(std::io::Error::from(std::io::ErrorKind::NotADirectory)),
    });
    folder.map_err(|fault| SessionError::Folder { path: path.into(), fault })
}
