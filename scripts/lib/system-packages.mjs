import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { chromium, commandPath, softhsmLibrary } from './commands.mjs';
import { Failure } from './failure.mjs';
import { run } from './run.mjs';

const command = (name, apt = name, brew = apt) => ({ name, apt, brew, present: () => commandPath(name) !== undefined });

/**
 * Returns a need for a package that contains no program and is detected by a file below /usr/lib or one of its architecture directories. Homebrew has none of
 * these packages.
 */
const library = (apt, file) => ({ name: path.basename(file), apt, brew: '', present: () => isInLib(file) });

/** Programs and files that npm does not provide: how to detect each file, and the package that contains it. */
export const NEEDS = {
  redis: { ...command('redis-server', 'redis-server', 'redis'), present: () => hasRedis() },
  softhsm: { ...command('softhsm2', 'softhsm2', 'softhsm'), present: () => hasSoftHsm() },
  openssl: command('openssl'),
  curl: command('curl'),
  python: command('python3', 'python3', 'python'),
  make: command('make'),
  cxx: command('g++', 'g++', 'gcc'),
  cc: command('gcc', 'gcc libc6-dev', 'gcc'),
  php: { ...command('php', 'php-cli php-xml php-mbstring', 'php'), present: () => hasPhp() },
  oathtool: command('oathtool', 'oathtool', 'oath-toolkit'),
  osslsigncode: command('osslsigncode'),
  p11kit: library('p11-kit-modules', 'pkcs11/p11-kit-client.so'),
  pkcs11engine: library('libengine-pkcs11-openssl', 'engines-3/pkcs11.so'),
  sbsigntool: command('sbsign', 'sbsigntool', ''),
  efi: library('systemd-boot-efi', 'systemd/boot/efi/systemd-bootx64.efi'),
  apksigner: command('apksigner', 'apksigner', ''),
  opensc: command('pkcs11-tool', 'opensc'),
  msi: command('msibuild', 'msitools', 'msitools'),
  faketime: command('faketime', 'faketime', 'libfaketime'),
  sshd: { ...command('sshd', 'openssh-server openssh-client', 'openssh'), present: () => hasSshd() },
  puttygen: command('puttygen', 'putty-tools', 'putty'),
  gnupg: command('gpg', 'gnupg gpgv', 'gnupg'),
  sequoia: command('sqv', 'sqv', 'sequoia-sqv'),
  git: command('git'),
  rpm: { ...command('rpmsign', 'rpm'), present: () => hasRpm() },
  reprepro: { ...command('reprepro', 'reprepro', ''), present: () => hasReprepro() },
  debsign: command('debsign', 'devscripts', ''),
  mkimage: command('mkimage', 'u-boot-tools device-tree-compiler', ''),
  pesign: command('pesign', 'pesign libnss3-tools', ''),
  createrepo: command('createrepo_c', 'createrepo-c', ''),
  debsigs: command('debsigs', 'debsigs', ''),
  rauc: command('rauc', 'rauc squashfs-tools', ''),
  aptly: command('aptly', 'aptly', ''),
  ostree: command('ostree', 'ostree', ''),
  flatpak: command('flatpak', 'flatpak', ''),
  skopeo: command('skopeo', 'skopeo', ''),
  jdk: command('jarsigner', 'default-jdk-headless', 'openjdk'),
  bouncycastle: {
    name: 'bcprov.jar of Bouncy Castle',
    apt: 'libbcprov-java',
    brew: '', // Homebrew has none
    present: () => existsSync('/usr/share/java/bcprov.jar'),
  },
  groovy: {
    name: 'groovy-all.jar of Groovy 2.4',
    apt: 'groovy',
    brew: '', // Homebrew has a newer version
    present: () => existsSync('/usr/share/java/groovy-all.jar'),
  },
  aiosmtpd: { ...command('aiosmtpd', 'python3-aiosmtpd', 'aiosmtpd'), present: () => hasAiosmtpd() },
  haproxy: command('haproxy'),
  nginx: command('nginx'),
  pgbouncer: command('pgbouncer'),
  rsyslog: { ...command('rsyslogd', 'rsyslog rsyslog-openssl', 'rsyslog'), present: () => hasRsyslog() },
  iproute: command('ip', 'iproute2', ''),
  patroni: { ...command('patroni', 'patroni python3-etcd postgresql', ''), present: () => hasPatroni() },
  etcd: command('etcd', 'etcd-server', 'etcd'),
  prometheus: command('prometheus'),
  mmdebstrap: command('mmdebstrap'),
  podman: command('podman', 'podman crun', 'podman'),
  promtool: command('promtool', 'prometheus', 'prometheus'),
  chromium: { ...command('chromium', 'chromium-headless-shell chromium', 'chromium'), present: () => hasChromium() },
};

/** Reports whether a file is below /usr/lib or one of its architecture directories. */
function isInLib(file) {
  if (!existsSync('/usr/lib')) return false;
  const folders = readdirSync('/usr/lib').filter((name) => name.includes('-linux-gnu'));
  return ['', ...folders].some((folder) => existsSync(path.join('/usr/lib', folder, file)));
}

const hasRsyslog = () => existsSync('/usr/sbin/rsyslogd') && isInLib('rsyslog/lmnsd_ossl.so');
const hasRedis = () => commandPath('redis-server') !== undefined || commandPath('valkey-server') !== undefined;
const hasSshd = () => existsSync('/usr/sbin/sshd') && commandPath('ssh-keygen') !== undefined;
const hasPhp = () => /^dom$/m.test(spawnSync('php', ['-m'], { encoding: 'utf8' }).stdout ?? '');
/** Reports whether aiosmtpd is installed. Debian's package belongs to Debian's Python, which may not be the first on the PATH. */
const hasAiosmtpd = () =>
  ['/usr/bin/python3', 'python3'].some((python) => spawnSync(python, ['-c', 'import aiosmtpd']).status === 0);
const hasRpm = () => commandPath('rpmsign') !== undefined && commandPath('rpmbuild') !== undefined;
/** Reports whether reprepro and apt are installed. apt verifies the generated repository. */
const hasReprepro = () => commandPath('reprepro') !== undefined && commandPath('apt-get') !== undefined;
/** Reports whether Patroni and Debian's PostgreSQL, which Patroni manages, are installed. */
const hasPatroni = () => commandPath('patroni') !== undefined && existsSync('/usr/lib/postgresql');
const hasChromium = () => chromium() !== undefined;
const hasSoftHsm = () => commandPath('softhsm2-util') !== undefined && softhsmLibrary() !== undefined;

/** missing returns the unmet needs. */
export const missing = (needs) => needs.filter((need) => !need.present());

/**
 * install installs the unmet needs with the system's package manager: apt-get as root or with passwordless sudo, or Homebrew.
 * @returns {Promise<typeof needs>} needs that are still unmet; the reason is passed to `note`
 */
export async function install(needs, note) {
  const wanted = missing(needs);
  if (wanted.length === 0) return [];
  const manager = packageManager();
  if (manager === undefined) return wanted;
  const names = packageNames(wanted, manager.kind);
  if (names.length === 0) return wanted;
  const { code, output, unknown = [] } = await manager.install(names);
  const left = missing(wanted);
  if (left.length > 0) note(`${manager.kind} could not install them (${code}): ${output.trim().split('\n').at(-1)}`);
  else note(`installed: ${names.filter((name) => !unknown.includes(name)).join(', ')}`);
  if (unknown.length > 0) note(`not available in this release: ${unknown.join(', ')}`);
  return left;
}

/** demand is like `install`, but throws a Failure that names the packages to install if a need is still unmet. */
export async function demand(needs, note) {
  const left = await install(needs, note);
  if (left.length === 0) return;
  const names = left.map((need) => need.name).join(', ');
  throw new Failure(`Missing on this machine: ${names}`, howToInstall(left));
}

export function howToInstall(needs) {
  const packages = (kind) => packageNames(needs, kind).join(' ');
  if (process.platform === 'darwin')
    return `Install Homebrew (https://brew.sh), then run: brew install ${packages('brew')}`;
  if (commandPath('apt-get') !== undefined)
    return `Run as root: apt-get update && apt-get install -y ${packages('apt')}`;
  return `Install them with your package manager (Debian names: ${packages('apt')}).`;
}

const packageNames = (needs, kind) => [...new Set(needs.flatMap((need) => need[kind].split(' ')))].filter(Boolean);

function packageManager() {
  if (process.platform === 'darwin') {
    const brew = commandPath('brew');
    return brew && { kind: 'brew', install: (names) => run(brew, ['install', '--quiet', ...names]) };
  }
  const apt = commandPath('apt-get');
  const prefix = apt && privilege();
  return prefix && { kind: 'apt', install: (names) => aptInstall([...prefix, apt], names) };
}

/** Returns the command prefix for running as root, or undefined if this account cannot. */
function privilege() {
  // In runlevel 1, installing a package does not start its server. Tests start their own servers.
  const nonInteractive = ['env', 'DEBIAN_FRONTEND=noninteractive', 'NEEDRESTART_SUSPEND=1', 'RUNLEVEL=1'];
  if (process.getuid() === 0) return nonInteractive;
  const sudo = commandPath('sudo');
  if (sudo && spawnSync(sudo, ['-n', 'true'], { stdio: 'ignore' }).status === 0) return [sudo, '-n', ...nonInteractive];
  return undefined;
}

/** Installs packages with apt. Updates the package lists only if they lack a package, or are so old that the file of a package no longer exists. */
async function aptInstall([program, ...prefix], names) {
  const apt = (...args) => run(program, [...prefix, '-o', 'DPkg::Lock::Timeout=180', ...args]);
  const attempt = (wanted) => apt('install', '-y', '-q', '--no-install-recommends', ...wanted);
  const known = await apt('install', '-q', '--simulate', '--no-install-recommends', ...names);
  if (known.code === 0) {
    const first = await attempt(names);
    if (first.code === 0) return first;
  }
  const update = await apt('update', '-q');
  // A single unknown package name would prevent the installation of all packages.
  const isKnown = await Promise.all(names.map(async (name) => (await run('apt-cache', ['show', name])).code === 0));
  const unknown = names.filter((_, index) => !isKnown[index]);
  const second = await attempt(names.filter((_, index) => isKnown[index]));
  const output = second.code === 0 ? second.output : `${update.output}\n${second.output}`;
  return { code: second.code, output, unknown };
}
