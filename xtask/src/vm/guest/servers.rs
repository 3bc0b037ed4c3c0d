//! Servers of NFS and SMB in the machine that is also their client.

use super::children::{Children, wait_until};
use crate::command::{command, output};
use crate::error::{Context, Result};
use std::fs;
use std::net::TcpStream;
use std::path::Path;

/// The folder that servers export, a mount of ext4.
pub(super) const EXPORTED: &str = "/srv/vm";

/// Seconds for which a server that has started waits for clients of its former life: the least that the kernel
/// takes (`__nfsd4_write_time` in fs/nfsd/nfsctl.c).
const GRACE: &str = "10";

/// Starts the server of NFS.
pub(super) fn start_nfs(children: &mut Children) -> Result<()> {
    for module in ["nfsd", "nfsv4", "nfsv3"] {
        output(command("modprobe").arg(module))?;
    }
    mount_once("nfsd", Path::new("/proc/fs/nfsd"))?;
    let pipes = Path::new("/run/rpc_pipefs");
    fs::create_dir_all(pipes).context("create", pipes.display())?;
    mount_once("rpc_pipefs", pipes)?;
    // The lock manager of NFS 3 has a grace time of its own.
    let own = "/proc/sys/fs/nfs/nlm_grace_period";
    if Path::new(own).exists() {
        fs::write(own, GRACE).context("write", own)?;
    }
    // Nothing here outlives the server, which therefore need not wait for its disk.
    let line = format!("{EXPORTED} *(rw,async,no_root_squash,no_subtree_check,fsid=0,insecure)\n");
    fs::write("/etc/exports", line).context("write", "/etc/exports")?;
    for name in ["etab", "rmtab"] {
        let path = Path::new("/var/lib/nfs").join(name);
        fs::write(&path, "").context("write", path.display())?;
    }
    for name in ["sm", "sm.bak", "v4recovery"] {
        let path = Path::new("/var/lib/nfs").join(name);
        fs::create_dir_all(&path).context("create", path.display())?;
    }
    children.start(&["rpcbind", "-f", "-w"])?;
    wait_until("rpcbind", || output(command("rpcinfo").args(["-p", "127.0.0.1"])).is_ok())?;
    children.start(&["rpc.statd", "-F", "--no-notify"])?;
    output(command("exportfs").arg("-ra"))?;
    output(command("rpc.nfsd").args(["-G", GRACE, "-L", GRACE, "8"]))?;
    children.start(&["rpc.mountd", "-F"])?;
    wait_until("rpc.mountd", || {
        output(command("rpcinfo").args(["-p", "127.0.0.1"]))
            .is_ok_and(|text| text.contains("mountd") && text.contains("status"))
    })
}

/// Ends the server of NFS, so that what it exports can be unmounted.
pub(super) fn stop_nfs(children: &mut Children) -> Result<()> {
    output(command("exportfs").arg("-ua"))?;
    output(command("rpc.nfsd").arg("0"))?;
    children.end()
}

fn mount_once(kind: &str, point: &Path) -> Result<()> {
    let mounted = fs::read_to_string("/proc/mounts").context("read", "/proc/mounts")?;
    let place = format!(" {} ", point.display());
    if !mounted.contains(&place) {
        output(command("mount").args(["-t", kind, kind]).arg(point))?;
    }
    Ok(())
}

/// Starts the server of SMB.
pub(super) fn start_smb(children: &mut Children) -> Result<()> {
    let config = "/run/smb.conf";
    let text = format!(
        "[global]\nmap to guest = Bad User\nguest account = root\nload printers = no\n\
         disable spoolss = yes\nlock directory = /run\nstate directory = /run\n\
         cache directory = /run\npid directory = /run\nprivate dir = /run\n\
         ncalrpc dir = /run/ncalrpc\nserver min protocol = SMB2\n\
         [share]\npath = {EXPORTED}\nguest ok = yes\nread only = no\nforce user = root\n"
    );
    fs::write(config, text).context("write", config)?;
    children.start(&["smbd", "-F", "--no-process-group", "-s", config])?;
    wait_until("smbd", || TcpStream::connect(("127.0.0.1", 445)).is_ok())
}
