import type { HostKeyState } from '../model/host-key.entity.js';
import type { PublicKeyBlob } from '../host-keys/public-key-blob.js';
import type { Labels } from '../model/host.entity.js';

export const IMPORT_FORMATS = [
  'csv',
  'known-hosts',
  'ansible-ini',
  'ansible-yaml',
  'ansible-json',
  'ssh-config',
  'list',
] as const;
export type ImportFormat = (typeof IMPORT_FORMATS)[number];

export interface ItemFault {
  /** Where in the text: `line 7`, `line 7/port`, or a JSON pointer into YAML. */
  readonly pointer: string;
  readonly detail: string;
}

export interface ImportedKey {
  readonly key: PublicKeyBlob;
  /** `rejected` for `@revoked`; absent: the state that the import asks for. */
  readonly state?: Extract<HostKeyState, 'rejected'>;
}

/** One host of a file. An item that cannot be read has faults and is not stored. */
export interface ImportItem {
  readonly pointer: string;
  readonly name: string;
  /** Members of a host as written; validated like the body of `POST /v1/hosts`. */
  readonly fields: Readonly<Record<string, unknown>> & { readonly labels?: Labels };
  /** Name of the host that it is reached through. */
  readonly jumpHost?: string;
  readonly keys: readonly ImportedKey[];
  /** A hashed name of known_hosts (HMAC-SHA1). */
  readonly hashed?: { readonly salt: Buffer; readonly hash: Buffer };
  readonly faults: readonly ItemFault[];
  /** Names of what was not imported: secrets, and variables of Ansible alone. */
  readonly ignored: readonly string[];
}

export function badItem(pointer: string, name: string, detail: string): ImportItem {
  return { pointer, name, fields: {}, keys: [], faults: [{ pointer, detail }], ignored: [] };
}
