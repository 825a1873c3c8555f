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
  /** Name of the credential of the import that it gets, and the login name; absent: `default`, and the credential's. */
  readonly login?: { readonly credential?: string; readonly user?: string };
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

/** Maximum hosts of one import. */
export const MAX_HOSTS = 5000;
/** Maximum names that are expanded, groups that are walked and variables that are inherited: far more than any inventory of 5000 hosts has. */
const MAX_STEPS = 2_000_000;

/** A file is refused as a whole. */
export class ImportRefusal extends Error {
  /** @param code of the Problem. @param detail what is wrong, with line and column where they are known. */
  constructor(
    readonly code: 'host-import.format' | 'host-import.too-large',
    readonly detail: string,
  ) {
    super(detail);
  }
}

/** Limits the cost of reading one file, which does not depend on its length. */
export class ImportBudget {
  private steps = 0;
  private hosts = 0;

  /** Throws ImportRefusal when the file asks for more than is read. */
  spend(steps = 1): void {
    this.steps += steps;
    if (this.steps > MAX_STEPS)
      throw new ImportRefusal(
        'host-import.too-large',
        'expands to more than one import can contain: import it in parts',
      );
  }

  /** Throws ImportRefusal when the file has more hosts than one import may have. */
  spendHost(): void {
    this.hosts += 1;
    if (this.hosts > MAX_HOSTS)
      throw new ImportRefusal('host-import.too-large', `has more than ${MAX_HOSTS} hosts: import it in parts`);
  }
}
