/**
 * AssetsFound reports cryptographic assets found by a module to the inventory. `assets` are items in the format of sensors: `{component | certificate |
 * publicKey, occurrence?, dependsOn?, provides?}`, up to several thousand per message.
 */
export interface AssetsFound {
  /** Reporting module, which also owns the assets: `discovery`, `signing`. */
  readonly reporter: string;
  /** Source of the assets, such as a host or a scan scope. The inventory compares each report with the earlier assets of the same source. */
  readonly source: string;
  /** Whether `assets` lists all assets of the source. All other assets of the source then no longer exist there. */
  readonly complete: boolean;
  readonly assets: readonly Record<string, unknown>[];
}

/** InboxMessages defines the JSON messages between modules, by topic. */
export interface InboxMessages {
  'inventory.assets-found': AssetsFound;
  'ssh-keys.found': SshKeysFound;
}
export type InboxTopic = keyof InboxMessages;

/** FoundSshKey is one occurrence of a key on a host. */
export interface FoundSshKey {
  /** `authorized-key`: a line that authorizes the key; `private-key`: a file that contains the private key. The content of the file was not read. */
  readonly kind: 'authorized-key' | 'private-key';
  /** Account that the line authorizes, or that owns the file. */
  readonly account: string;
  readonly uid: number | null;
  /** Absolute path on the host. */
  readonly path: string;
  /** One-based line number in an authorized_keys file. */
  readonly line: number | null;
  /** OpenSSH fingerprint, `SHA256:` and unpadded base64; null for an encrypted private key whose public key is not readable. */
  readonly fingerprint: string | null;
  /** `ssh-ed25519 AAAA…`; null if the public key is not readable. */
  readonly publicKey: string | null;
  /** Key type as in RFC 4253 section 6.6, such as `ssh-ed25519`. */
  readonly type: string;
  readonly bits: number | null;
  readonly comment: string | null;
  /** Options of the line, verbatim; null if there are none. */
  readonly options: string | null;
  /** Whether a passphrase protects the private key; null if unknown. */
  readonly passphrase: boolean | null;
  /** Time of the last modification of the file (ISO 8601, UTC). The key was added at this time or earlier. */
  readonly modifiedAt: string | null;
}

/** SshKeyUse is a login with a key, from the host's own log. */
export interface SshKeyUse {
  readonly fingerprint: string;
  readonly account: string;
  /** Time of the login, ISO 8601 in UTC. */
  readonly at: string;
  /** Source address of the login. */
  readonly source: string;
  /** Line of the log. */
  readonly evidence: string;
}

/** SshKeysFound lists all or some of the SSH keys that a deep scan of a host found. */
export interface SshKeysFound {
  readonly hostId: string;
  readonly scanId: string;
  /** Time of the scan, ISO 8601 in UTC. */
  readonly seenAt: string;
  /** Files that this message covers completely. Keys recorded in these files that are not in `keys` no longer exist. */
  readonly readPaths: readonly string[];
  /** Directories that were searched completely for private keys. Keys recorded below these directories that are not in `keys` no longer exist. */
  readonly searched?: readonly string[];
  readonly keys: readonly FoundSshKey[];
  readonly uses: readonly SshKeyUse[];
}
