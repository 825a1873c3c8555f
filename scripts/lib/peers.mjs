import { continueUnderNode24, refuseOldNode } from './node24.mjs';
import { installPackages, needsForPackages } from './packages.mjs';
import { step } from './steps.mjs';
import { demand, howToInstall, install, missing, NEEDS } from './system-packages.mjs';

/** Third-party programs for tests, benches and chaos runs, with what cannot be checked without them. */
const PEERS = {
  redis: 'everything that needs Redis',
  softhsm: 'everything that needs an HSM: generating keys, signing, verifying',
  openssl: 'that openssl verifies our signatures',
  php: 'SAML sign-in with SimpleSAMLphp',
  aiosmtpd: 'that a mail server of another maker takes our mails',
  chromium: 'that pages, single sign-on and passkeys work in a browser',
  oathtool: 'that codes of an authenticator app (oathtool) let people in, and only once',
  opensc: 'that pkcs11-tool sees keys that cannot leave the token',
  p11kit: 'that signing tools find keys by PKCS #11 (p11-kit)',
  pkcs11engine: 'that openssl, osslsigncode and sbsign sign by PKCS #11 (libengine-pkcs11-openssl)',
  sbsigntool: 'that sbverify accepts what sbsign signed with a key of the service',
  efi: 'that an UEFI program can be signed (systemd-boot)',
  apksigner: 'that apksigner signs and verifies with a key of the service',
  osslsigncode: 'that osslsigncode attaches and verifies our Authenticode signatures',
  msi: 'that Authenticode works for .msi files',
  faketime: 'that a skewed clock gives no timestamps',
  jdk: 'that jarsigner verifies our signature blocks, and that key stores of keytool are read',
  bouncycastle: 'that a BCFKS store of Bouncy Castle is read',
  groovy: "that the step of Jenkins' shared library runs (Groovy)",
  gnupg: 'that OpenPGP keyrings of gpg are read, and that gpg and gpgv accept our certificates and signatures',
  sequoia: 'that Sequoia (sqv) accepts our OpenPGP signatures',
  git: 'that git verifies commits and tags that are signed by OpenPGP and by SSH',
  rpm: 'that rpm accepts packages that rpmsign signed with our gpg',
  reprepro: 'that apt takes repositories that reprepro signed with our gpg',
  debsign: 'that debsign signs with our gpg',
  mkimage: 'that mkimage signs as the page about tools says',
  pesign: 'that pesign signs as the page about tools says',
  createrepo: 'that the index of createrepo_c is signed with our gpg',
  debsigs: 'that debsigs signs with our gpg',
  rauc: 'that RAUC signs bundles as the page about tools says',
  aptly: 'that aptly publishes a repository with our gpg',
  ostree: 'that ostree pulls commits that were signed with our gpg',
  flatpak: 'that flatpak signs applications with our gpg',
  skopeo: 'that skopeo signs and verifies images with our gpg',
  sshd: 'logins to real hosts, host keys, scans and rotations (OpenSSH)',
  haproxy: 'that the example for HAProxy works, and that restarts behind it are noticed by nobody',
  nginx: 'that the example for nginx works, and that restarts behind it are noticed by nobody',
  pgbouncer: 'that the service works behind pgbouncer, or says why not',
  rsyslog: 'that rsyslog gets the audit log over TLS, each entry and in order, whatever is killed',
  promtool: 'that the alert rules fire in the drills (promtool)',
  puttygen: 'that private keys of PuTTY (puttygen) are read',
  cc: 'behaviour under a failing HSM (the PKCS#11 shim has to be compiled)',
};

/** Additional programs for a proof, by its name. */
const PEERS_OF_PROOFS = {
  cluster: ['iproute', 'patroni', 'etcd', 'haproxy', 'pgbouncer'],
  drills: ['prometheus', 'promtool'],
  image: ['mmdebstrap', 'podman'],
  install: ['mmdebstrap'],
};

/** equipProof installs what the named proof needs; on failure, the error names what is missing. */
export async function equipProof(name) {
  const needs = (PEERS_OF_PROOFS[name] ?? []).map((peer) => NEEDS[peer]);
  if (needs.length > 0) await step('System packages of this proof', (note) => demand(needs, note));
}

/** equip takes a fresh clone on a bare machine to installed packages, peers and a Node that can run the service, and continues under that Node. */
export async function equip() {
  refuseOldNode();
  // Set by this script for itself when it continues under another Node; child processes must not inherit it.
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

/** uncheckedPromises returns what cannot be checked because a required program is missing and cannot be installed. */
export function uncheckedPromises() {
  return Object.entries(PEERS)
    .filter(([name]) => missing([NEEDS[name]]).length > 0)
    .map(([name, promise]) => `${promise} (${NEEDS[name].name} is missing)`);
}
