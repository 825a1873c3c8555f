/**
 * Cryptographic assets that a module found, for the inventory. `assets` are items as sensors send them:
 * `{component | certificate | publicKey, occurrence?, dependsOn?, provides?}`, up to some thousand at once.
 */
export interface AssetsFound {
  /** The module that reports, which is also the owner: `discovery`, `signing`. */
  readonly reporter: string;
  /** Source that is reported on: a host, a scan scope. What it showed before and does not show now is known by this. */
  readonly source: string;
  /** true: this is all there is at the source, anything else is gone. false: a part. */
  readonly complete: boolean;
  readonly assets: readonly Record<string, unknown>[];
}

/** Messages between modules by topic; JSON. */
export interface InboxMessages {
  'inventory.assets-found': AssetsFound;
  'ssh-keys.found': SshKeysFound;
}
export type InboxTopic = keyof InboxMessages;

/** One place where a key was found on a host. */
export interface FoundSshKey {
  /** `authorized-key`: a line that lets the key in; `private-key`: a file that holds the private half, whose bytes nobody read. */
  readonly kind: 'authorized-key' | 'private-key';
  /** Login name that the line lets in, or that owns the file. */
  readonly account: string;
  readonly uid: number | null;
  /** Absolute path on the host. */
  readonly path: string;
  /** 1-based line of an authorized_keys file. */
  readonly line: number | null;
  /** OpenSSH form `SHA256:` and base64 without padding; null for a protected private key of which nothing can be read. */
  readonly fingerprint: string | null;
  /** `ssh-ed25519 AAAA…`, when the public half could be read. */
  readonly publicKey: string | null;
  /** Key type in the words of RFC 4253 section 6.6, for example `ssh-ed25519`. */
  readonly type: string;
  readonly bits: number | null;
  readonly comment: string | null;
  /** Options of the line, as they are written; null when it has none. */
  readonly options: string | null;
  /** Whether a passphrase protects the private key; null when not known. */
  readonly passphrase: boolean | null;
  /** When the file was last written (ISO 8601, UTC): the latest that the key can have been put there. */
  readonly modifiedAt: string | null;
}

/** A login with a key, as in the host's own log. */
export interface SshKeyUse {
  readonly fingerprint: string;
  readonly account: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Address from which the login came. */
  readonly source: string;
  /** The line of the log. */
  readonly evidence: string;
}

/** SSH keys that a deep scan of one host saw, or the part of them that this message carries. */
export interface SshKeysFound {
  readonly hostId: string;
  readonly scanId: string;
  /** ISO 8601, UTC. */
  readonly seenAt: string;
  /** Files that were read to their end, in this message: what was known there and is not in `keys` is gone. */
  readonly readPaths: readonly string[];
  /** Directories that were searched for private keys to their end: what was known below them and is not in `keys` is gone. */
  readonly searched?: readonly string[];
  readonly keys: readonly FoundSshKey[];
  readonly uses: readonly SshKeyUse[];
}
