import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/root',
  LC_ALL: 'C.UTF-8',
  DEBIAN_FRONTEND: 'noninteractive',
};
const POLICY = 'usr/sbin/policy-rc.d';
const TIMEOUT_MS = 1_800_000;

/** Unmounts everything below the directory. mmdebstrap leaves a mount behind if the mount was busy. */
function unmountBelow(directory: string): void {
  const mounted = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const path of mounted.filter((one) => one.startsWith(`${directory}/`)).reverse()) execFileSync('umount', [path]);
}

/**
 * An empty Debian system: a root file system with the packages that every Debian system contains, separate processes and mounts, and a replacement for
 * systemctl. Requires root.
 */
export class Machine {
  readonly root: string;

  private constructor(
    private readonly place: string,
    private readonly hostName: string,
  ) {
    this.root = join(place, hostName);
  }

  /** Creates the machine below `place`; `release` is the Debian release name. */
  static make(place: string, hostName: string, release: string): Machine {
    const machine = new Machine(place, hostName);
    const { root } = machine;
    execFileSync('mmdebstrap', ['--variant=minbase', release, root], { stdio: 'pipe' });
    unmountBelow(root);
    cpSync(join(import.meta.dirname, 'systemctl'), join(root, 'usr/local/sbin/systemctl'));
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) copyFileSync(file, join(root, file));
    return machine;
  }

  /** Creates another machine as a copy of the current state of this machine. */
  copy(hostName: string): Machine {
    const other = new Machine(this.place, hostName);
    execFileSync('cp', ['--archive', this.root, other.root]);
    return other;
  }

  /** Copies files to the working directory of the scripts. */
  take(files: readonly string[]): void {
    for (const file of files) cpSync(file, join(this.root, 'root', basename(file)));
  }

  /** Runs a script with network access, to install packages. As in a container, installing a service does not start it. */
  install(script: string): { code: number; out: string } {
    writeFileSync(join(this.root, POLICY), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
    try {
      return this.run(script, []);
    } finally {
      rmSync(join(this.root, POLICY));
    }
  }

  /** Runs a script with only the loopback interface. All processes end with the script. */
  isolated(script: string): { code: number; out: string } {
    return this.run(script, ['--net'], 'ip link set lo up');
  }

  private run(script: string, namespaces: readonly string[], first = 'true'): { code: number; out: string } {
    mkdirSync(join(this.root, 'root'), { recursive: true });
    writeFileSync(join(this.root, 'root/page.sh'), script);
    const enter = [
      `${first} && hostname "$2"`,
      'mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/run" && mount -t tmpfs tmpfs "$1/dev"',
      'for d in null zero full random urandom; do touch "$1/dev/$d"; mount --bind "/dev/$d" "$1/dev/$d"; done',
      'ln -s /proc/self/fd "$1/dev/fd"; mkdir "$1/dev/shm"; mount -t tmpfs tmpfs "$1/dev/shm"',
      'exec chroot "$1" /bin/bash /root/page.sh',
    ].join('\n');
    const flags = ['--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child', ...namespaces];
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [...flags, 'bash', '-euc', enter, 'machine', this.root, this.hostName],
      {
        env: ENVIRONMENT,
        encoding: 'utf8',
        timeout: TIMEOUT_MS,
        maxBuffer: 64 * 1024 * 1024,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    return { code: status ?? 1, out: `${stdout}${stderr}` };
  }
}
