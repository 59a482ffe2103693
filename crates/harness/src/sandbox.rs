//! Owns what settings and flags ask of the sandbox, as one plan. Must not know how it is enforced.

use std::path::{Path, PathBuf};

use tools::sandbox::settings::SandboxSettings;
use tools::sandbox::{Confinement, Layer, Network, Plan, Profile, Sandbox, Unavailable};

pub use tools::sandbox::{HELPER, Single, help, run_single};

use crate::environment::Environment;

/// Where a sandbox is made, and what a flag wants of it.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The profile.
    pub profile: Profile,
    /// The only layer that will do.
    pub layer: Option<Layer>,
    /// The surroundings.
    pub environment: &'a Environment,
    /// The working folder.
    pub cwd: &'a Path,
    /// The folders of the workspace, resolved.
    pub roots: Vec<PathBuf>,
    /// This program.
    pub helper: Option<&'a Path>,
}

/// Makes and tries the sandbox; none for [`Profile::Off`].
pub fn confine(request: &Request<'_>, settings: &SandboxSettings) -> Result<Option<Confinement>, Unavailable> {
    if request.profile == Profile::Off {
        return Ok(None);
    }
    let sandbox = Sandbox::prepare(plan(request, settings)?)?;
    Ok(Some(Confinement {
        sandbox: sandbox.into(),
        auto_allow: settings.auto_allow_bash_if_sandboxed.unwrap_or(false),
        excluded: settings.excluded_commands.clone(),
        may_leave: settings.allow_unsandboxed_commands.unwrap_or(true),
    }))
}

fn plan(request: &Request<'_>, settings: &SandboxSettings) -> Result<Plan, Unavailable> {
    let Request { environment, cwd, .. } = request;
    let home = environment.home();
    let paths = |key: &str, list: &[String]| -> Result<Vec<PathBuf>, Unavailable> {
        let one = |text: &String| match text.contains(['*', '?', '[']) {
            true => Err(Unavailable {
                reason: format!(
                    "`sandbox.filesystem.{key}` holds the pattern {text:?}, and a sandbox knows paths only"
                ),
                remedy: "Name the folder that holds them".into(),
            }),
            false => Ok(tools::sandbox::located(text, cwd, home.as_deref())),
        };
        list.iter().map(one).collect()
    };
    let files = &settings.filesystem;
    let mut deny_read = paths("denyRead", &files.deny_read)?;
    deny_read.extend(tools::sandbox::credentials(home.as_deref()));
    let allow_read = paths("allowRead", &files.allow_read)?;
    deny_read.retain(|path| !allow_read.contains(path));
    let domains = &settings.network.allowed_domains;
    let network = match domains.as_slice() {
        [] => Network::Off,
        list if list.iter().any(|name| name == "*") => Network::Open,
        list => Network::Hosts(list.to_vec()),
    };
    let temp = environment.get("TMPDIR").filter(|path| Path::new(path).is_absolute()).unwrap_or("/tmp");
    Ok(Plan {
        profile: request.profile,
        network,
        roots: request.roots.clone(),
        home: home.as_ref().map(|home| home.canonicalize().unwrap_or_else(|_| home.clone())),
        temp: Path::new(temp).canonicalize().unwrap_or_else(|_| temp.into()),
        write: paths("allowWrite", &files.allow_write)?,
        deny_write: paths("denyWrite", &files.deny_write)?,
        deny_read,
        allow_read,
        unix_sockets: settings.network.allow_all_unix_sockets.unwrap_or(false),
        helper: request.helper.ok_or_else(no_helper)?.to_owned(),
        layer: request.layer,
    })
}

fn no_helper() -> Unavailable {
    Unavailable {
        reason: "this program does not know where it is itself".into(),
        remedy: "Start it by its full path".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> SandboxSettings {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn paths_and_hosts_become_a_plan() {
        let environment = Environment::of([("HOME".into(), "/home/me".into()), ("TMPDIR".into(), "/tmp".into())]);
        let request = Request {
            profile: Profile::WorkspaceWrite,
            layer: None,
            environment: &environment,
            cwd: Path::new("/w"),
            roots: vec!["/w".into()],
            helper: Some(Path::new("/bin/rsagent")),
        };
        let asked = settings(
            r#"{"network": {"allowedDomains": ["example.com"], "socksProxyPort": 1},
                "filesystem": {"allowWrite": ["~/cache"], "denyWrite": ["keep"], "denyRead": ["/x"], "allowRead": ["~/.ssh"]}}"#,
        );
        assert_eq!(asked.unknown_keys(), ["sandbox.network.socksProxyPort"]);
        let plan = plan(&request, &asked).unwrap();
        assert_eq!(plan.network, Network::Hosts(vec!["example.com".into()]));
        assert_eq!((plan.write, plan.deny_write), (vec!["/home/me/cache".into()], vec!["/w/keep".into()]));
        assert!(plan.deny_read.contains(&"/x".into()) && plan.deny_read.contains(&"/home/me/.aws".into()));
        assert!(!plan.deny_read.contains(&"/home/me/.ssh".into()));
        let pattern = settings(r#"{"filesystem": {"denyRead": ["**/.env"]}}"#);
        assert_eq!(super::plan(&request, &pattern).unwrap_err().remedy, "Name the folder that holds them");
    }
}
