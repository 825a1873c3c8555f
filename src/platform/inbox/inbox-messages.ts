import type { SshKeysFound } from './ssh-keys-found.js';

/**
 * Cryptographic assets that somebody found, for the inventory. `assets` are items as sensors send them:
 * `{component | certificate | publicKey, occurrence?, dependsOn?, provides?}`, up to some thousand at once.
 */
export interface AssetsFound {
  /** Who reports, and in the name of whom: `discovery`, `signing`. */
  readonly reporter: string;
  /** What is reported on: a host, a scan scope. What it showed once and does not show now can then be told. */
  readonly source: string;
  /** true: this is all there is at the source, anything else is gone. false: a part. */
  readonly complete: boolean;
  readonly assets: readonly Record<string, unknown>[];
}

/** What modules hand to each other for good, by topic; JSON. */
export interface InboxMessages {
  'inventory.assets-found': AssetsFound;
  'ssh-keys.found': SshKeysFound;
}
export type InboxTopic = keyof InboxMessages;
