import type { AgentPurpose } from '../signer/purposes.js';

/** ToolAccess describes how a tool obtains signatures, which determines what must be installed. */
export type ToolAccess = 'pkcs11' | 'engine' | 'engine or provider' | 'java' | 'gpg' | 'ssh-agent' | 'files';

export interface KnownTool {
  readonly name: string;
  /** Programs that must be on the PATH. */
  readonly programs: readonly string[];
  /** Installation hint for the programs. */
  readonly toInstall: string;
  readonly access: ToolAccess;
  /** Required purpose of the key. */
  readonly purpose: AgentPurpose;
  /** Whether the key needs a certificate. */
  readonly needsCertificate: boolean;
  /** Required setup in addition to the packages, as text for users. */
  readonly hint?: string;
}

type Row = readonly [name: string, programs: string, packages: string, access: ToolAccess, hint?: string];

const CODE: readonly Row[] = [
  ['osslsigncode', 'osslsigncode', 'osslsigncode', 'engine'],
  ['sbsign', 'sbsign sbverify', 'sbsigntool', 'engine'],
  ['jarsigner', 'jarsigner', 'default-jdk-headless', 'java'],
  ['keytool', 'keytool', 'default-jdk-headless', 'java'],
  ['apksigner', 'apksigner', 'apksigner', 'java'],
  [
    'jsign',
    'jsign',
    '',
    'java',
    'Distributions do not package jsign: get the .deb or .rpm from https://github.com/ebourg/jsign/releases.',
  ],
  ['openssl', 'openssl', 'openssl', 'engine or provider'],
  ['pkcs11-tool', 'pkcs11-tool', 'opensc', 'pkcs11'],
  [
    'rauc',
    'rauc',
    'rauc',
    'engine',
    'Set check-purpose=codesign in the keyring section, or use a certificate that allows every purpose.',
  ],
  ['mkimage', 'mkimage', 'u-boot-tools', 'engine'],
  [
    'pesign',
    'pesign modutil certutil',
    'pesign libnss3-tools',
    'pkcs11',
    'Add the module to an NSS database with modutil -add.',
  ],
  ['ukify', 'ukify sbsign', 'systemd-ukify sbsigntool', 'engine'],
  [
    'notation',
    'notation',
    '',
    'files',
    'notation plugin install --file requires notation-sealwright, which `sealwright wrappers` writes.',
  ],
  [
    'cosign',
    'cosign',
    'cosign',
    'files',
    'Distribution builds do not support hashivault:// or pkcs11: use `cosign generate` and `cosign attach signature`.',
  ],
];

const GPG: readonly Row[] = [
  ['gpg', '', '', 'gpg'],
  ['git', 'git', 'git', 'gpg'],
  ['rpmsign', 'rpmsign', 'rpm', 'gpg'],
  ['reprepro', 'reprepro', 'reprepro', 'gpg'],
  ['debsign', 'debsign', 'devscripts', 'gpg'],
  ['debsigs', 'debsigs', 'debsigs', 'gpg'],
  ['maven', 'mvn', 'maven', 'gpg'],
  ['helm', 'helm', '', 'gpg'],
  ['aptly', 'aptly', 'aptly', 'gpg'],
  ['createrepo_c', 'createrepo_c', 'createrepo-c', 'gpg'],
  ['ostree', 'ostree', 'ostree', 'gpg'],
  ['flatpak', 'flatpak', 'flatpak', 'gpg'],
  ['skopeo', 'skopeo', 'skopeo', 'gpg'],
];

const toolOf = ([name, programs, packages, access, hint]: Row, purpose: AgentPurpose): KnownTool => ({
  name,
  programs: programs.split(' ').filter(Boolean),
  toInstall: packages === '' ? 'there is no Debian package' : `apt install ${packages}`,
  access,
  purpose,
  needsCertificate: ['engine', 'java'].includes(access) || ['pesign', 'notation'].includes(name),
  ...(hint !== undefined && { hint }),
});

/** KNOWN_TOOLS lists the tools that have recipes in docs/tools.md, with the requirements of each tool. */
export const KNOWN_TOOLS: readonly KnownTool[] = [
  ...CODE.map((row) => toolOf(row, 'code-signing')),
  ...GPG.map((row) => toolOf(row, 'openpgp')),
  toolOf(['ssh-keygen', 'ssh-keygen', 'openssh-client', 'ssh-agent'], 'ssh-signatures'),
  toolOf(['ssh', 'ssh', 'openssh-client', 'ssh-agent'], 'ssh-login'),
];
