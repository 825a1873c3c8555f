import { continueUnderNode24, refuseOldNode } from './node24.mjs';
import { installPackages, needsForPackages } from './packages.mjs';
import { step } from './steps.mjs';
import { demand, howToInstall, install, missing, NEEDS } from './system-packages.mjs';

/** Third-party programs for tests, benches and proofs, each with a description of what cannot be checked without the program. */
const PEERS = {
  redis: 'everything that needs Redis',
  softhsm: 'everything that needs an HSM: generating keys, signing, verifying',
  openssl: 'that openssl verifies our signatures',
  php: 'SAML sign-in with SimpleSAMLphp',
  aiosmtpd: 'that a third-party mail server accepts our emails',
  chromium: 'that pages, single sign-on and passkeys work in a browser',
  oathtool: 'that codes of an authenticator app (oathtool) are accepted, and only once',
  opensc: 'that pkcs11-tool lists keys that cannot leave the token',
  p11kit: 'that signing tools find keys by PKCS #11 (p11-kit)',
  pkcs11engine: 'that openssl, osslsigncode and sbsign sign by PKCS #11 (libengine-pkcs11-openssl)',
  sbsigntool: 'that sbverify accepts what sbsign signed with a key of the service',
  efi: 'that a UEFI program can be signed (systemd-boot)',
  apksigner: 'that apksigner signs and verifies with a key of the service',
  osslsigncode: 'that osslsigncode attaches and verifies our Authenticode signatures',
  msi: 'that Authenticode works for .msi files',
  faketime: 'that no timestamps are issued with a skewed clock',
  jdk: 'that jarsigner verifies our signature blocks, and that keytool key stores are read',
  bouncycastle: 'that a Bouncy Castle BCFKS store is read',
  groovy: 'that the step of the Jenkins shared library runs (Groovy)',
  gnupg: 'that gpg keyrings are read, and that gpg and gpgv accept our certificates and signatures',
  sequoia: 'that Sequoia (sqv) accepts our OpenPGP signatures',
  git: 'that git verifies commits and tags signed with OpenPGP and SSH',
  rpm: 'that rpm accepts packages that rpmsign signed with our gpg',
  reprepro: 'that apt accepts repositories that reprepro signed with our gpg',
  debsign: 'that debsign signs with our gpg',
  mkimage: 'that mkimage signs as documented for tools',
  pesign: 'that pesign signs as documented for tools',
  createrepo: 'that the index of createrepo_c is signed with our gpg',
  debsigs: 'that debsigs signs with our gpg',
  rauc: 'that RAUC signs bundles as documented for tools',
  aptly: 'that aptly publishes a repository with our gpg',
  ostree: 'that ostree pulls commits signed with our gpg',
  flatpak: 'that flatpak signs applications with our gpg',
  skopeo: 'that skopeo signs and verifies images with our gpg',
  sshd: 'logins to real hosts, host keys, scans and rotations (OpenSSH)',
  haproxy: 'that the HAProxy example works, and that restarts behind it go unnoticed',
  nginx: 'that the nginx example works, and that restarts behind it go unnoticed',
  pgbouncer: 'that the service works behind pgbouncer, or reports why not',
  rsyslog: 'that rsyslog receives every audit log entry over TLS, in order, despite crashes',
  promtool: 'that the alert rules fire in the drills (promtool)',
  puttygen: 'that PuTTY private keys (puttygen) are read',
  cc: 'behavior with a failing HSM (the PKCS#11 shim must be compiled)',
};

/** Additional programs for proofs, by proof name. */
const PEERS_OF_PROOFS = {
  cluster: ['iproute', 'patroni', 'etcd', 'haproxy', 'pgbouncer'],
  drills: ['prometheus', 'promtool'],
  image: ['mmdebstrap', 'podman'],
  install: ['mmdebstrap'],
};

/** equipProof installs the programs that the named proof needs. If this fails, the error names the missing programs. */
export async function equipProof(name) {
  const needs = (PEERS_OF_PROOFS[name] ?? []).map((peer) => NEEDS[peer]);
  if (needs.length > 0) await step('System packages of this proof', (note) => demand(needs, note));
}

/** equip installs packages, peers and a Node that can run the service, starting from a fresh clone on a bare machine, and continues under that Node. */
export async function equip() {
  refuseOldNode();
  // The script sets this variable for itself when it continues under another Node. Child processes must not inherit the variable.
  if (process.env.SEALWRIGHT_CONTINUED === undefined) await bringWhatIsMissing();
  process.env.SEALWRIGHT_CONTINUED = 'yes';
  await continueUnderNode24();
  delete process.env.SEALWRIGHT_CONTINUED;
}

async function bringWhatIsMissing() {
  const compilers = needsForPackages();
  await step('System packages', async (note) => {
    const left = await install([...compilers, ...Object.keys(PEERS).map((name) => NEEDS[name])], note);
    await demand(compilers, note);
    if (left.length > 0) note(howToInstall(left));
  });
  await step('npm packages', () => installPackages());
}

/** uncheckedPromises returns descriptions of what cannot be checked because a required program is missing and cannot be installed. */
export function uncheckedPromises() {
  return Object.entries(PEERS)
    .filter(([name]) => missing([NEEDS[name]]).length > 0)
    .map(([name, promise]) => `${promise} (${NEEDS[name].name} is missing)`);
}
