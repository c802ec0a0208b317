//! The one command that installs PostgreSQL on this system.

use std::fs;

/// A sentence with the command for this system, without `sudo` where it is not needed.
pub(crate) fn install_hint() -> String {
    let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    match command_for(std::env::consts::OS, &os_release) {
        Some(command) => {
            let sudo = if needs_sudo() { "sudo " } else { "" };
            format!("Run: {sudo}{command}")
        }
        None => "Install PostgreSQL 15 or newer and set TENURE_POSTGRES_BIN to its bin directory.".to_owned(),
    }
}

fn needs_sudo() -> bool {
    std::env::consts::OS != "macos" && !nix::unistd::geteuid().is_root()
}

fn command_for(os: &str, os_release: &str) -> Option<&'static str> {
    if os == "macos" {
        return Some("brew install postgresql@17");
    }
    let families: Vec<&str> = os_release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")))
        .flat_map(|value| value.trim_matches('"').split_whitespace())
        .collect();
    families.iter().find_map(|family| match *family {
        "debian" | "ubuntu" => Some("apt-get install --yes postgresql"),
        "fedora" | "rhel" | "centos" => Some("dnf install --assumeyes postgresql-server"),
        "alpine" => Some("apk add postgresql"),
        "arch" => Some("pacman --sync --noconfirm postgresql"),
        "suse" | "opensuse" => Some("zypper --non-interactive install postgresql-server"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::command_for;

    #[test]
    fn each_package_system_gets_its_own_command() {
        let mint = "NAME=Mint\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n";
        let rocky = "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n";
        assert_eq!(command_for("linux", mint), Some("apt-get install --yes postgresql"));
        assert_eq!(
            command_for("linux", rocky),
            Some("dnf install --assumeyes postgresql-server")
        );
        assert_eq!(command_for("linux", "ID=alpine\n"), Some("apk add postgresql"));
        assert_eq!(command_for("macos", ""), Some("brew install postgresql@17"));
        assert_eq!(command_for("linux", "ID=unheard-of\n"), None);
    }
}
