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
  /** Location in the text: `line 7`, `line 7/port`, or a JSON pointer into YAML. */
  readonly pointer: string;
  readonly detail: string;
}

export interface ImportedKey {
  readonly key: PublicKeyBlob;
  /** `rejected` for a key marked `@revoked`. Defaults to the state that the import requests. */
  readonly state?: Extract<HostKeyState, 'rejected'>;
}

/** ImportItem is one host in a file. An item that cannot be read has faults and is not stored. */
export interface ImportItem {
  readonly pointer: string;
  readonly name: string;
  /** Members of a host as written in the file. These members are validated like the body of `POST /v1/hosts`. */
  readonly fields: Readonly<Record<string, unknown>> & { readonly labels?: Labels };
  /** Name of the credential in the import, and login name. The defaults are the credential named `default` and its login name. */
  readonly login?: { readonly credential?: string; readonly user?: string };
  /** Name of the jump host. */
  readonly jumpHost?: string;
  readonly keys: readonly ImportedKey[];
  /** Hashed name in known_hosts (HMAC-SHA1). */
  readonly hashed?: { readonly salt: Buffer; readonly hash: Buffer };
  readonly faults: readonly ItemFault[];
  /** Names of settings that were not imported, such as secrets and variables that only Ansible uses. */
  readonly ignored: readonly string[];
}

export function badItem(pointer: string, name: string, detail: string): ImportItem {
  return { pointer, name, fields: {}, keys: [], faults: [{ pointer, detail }], ignored: [] };
}

/** MAX_HOSTS is the maximum number of hosts in one import. */
export const MAX_HOSTS = 5000;
/** Maximum number of expanded names, visited groups and inherited variables. An inventory of 5000 hosts needs far fewer. */
const MAX_STEPS = 2_000_000;

/** ImportRefusal is thrown if a whole file is rejected. */
export class ImportRefusal extends Error {
  /**
   * @param code problem code
   * @param detail what is wrong, with line and column if known
   */
  constructor(
    readonly code: 'host-import.format' | 'host-import.too-large',
    readonly detail: string,
  ) {
    super(detail);
  }
}

/** ImportBudget limits the cost of reading one file. A short file can be costly, because ranges and groups are expanded. */
export class ImportBudget {
  private steps = 0;
  private hosts = 0;

  /** Throws ImportRefusal if the file expands to more than an import allows. */
  spend(steps = 1): void {
    this.steps += steps;
    if (this.steps > MAX_STEPS)
      throw new ImportRefusal(
        'host-import.too-large',
        'expands to more than one import can contain: split the file into several imports',
      );
  }

  /** Throws ImportRefusal if the file contains more hosts than an import allows. */
  spendHost(): void {
    this.hosts += 1;
    if (this.hosts > MAX_HOSTS)
      throw new ImportRefusal(
        'host-import.too-large',
        `has more than ${MAX_HOSTS} hosts: split the file into several imports`,
      );
  }
}
