import type { AgentKey } from '../signer/agent-keys.js';
import type { AgentPurpose } from '../signer/purposes.js';
import type { NotSigned, SignatureOrder, SignatureResult } from '../signer/remote-signer.js';

/** JointOrder is one of several signatures that are requested together. */
export interface JointOrder {
  /** ID or name of the key. If a version is given, the signature must be made with that version. */
  readonly key: Pick<AgentKey, 'id' | 'name'> & Partial<Pick<AgentKey, 'version'>>;
  readonly digest: Buffer;
  readonly algorithm: string;
  /** Signature scheme. Default: the key's default scheme. */
  readonly scheme?: string | undefined;
  /** Signature format. Default: `raw`. */
  readonly format?: string | undefined;
  readonly timestamp?: boolean;
  /** Purpose of the signatures. All orders have the same purpose. Default: the purposes of the key. */
  readonly purpose?: AgentPurpose | undefined;
  /** Name of the file, if known. */
  readonly fileName?: string | undefined;
}

export type JointResult = NotSigned | (Extract<SignatureResult, { kind: 'signed' }> & { readonly timestamp?: Buffer });

/** Returns an identifier that is equal for orders that can share a signature. */
export function nameOfOrder({ key, algorithm, scheme, format = 'raw', digest }: JointOrder): string {
  return `${key.id} ${key.version ?? ''} ${algorithm} ${scheme ?? ''} ${format} ${digest.toString('hex')}`;
}

const NOTED: SignatureResult = { kind: 'withdrawn', detail: 'The request was recorded and will be signed later.' };

/** NotedOrders records the signatures that tools request during a run in which nothing is signed. Each tool fails and leaves its file unchanged. */
export class NotedOrders {
  private readonly byName = new Map<string, JointOrder>();

  note({ signal: _unused, ...order }: SignatureOrder, fileName?: string): Promise<SignatureResult> {
    this.add({ ...order, fileName });
    return Promise.resolve(NOTED);
  }

  add(order: JointOrder): void {
    const name = nameOfOrder(order);
    if (!this.byName.has(name)) this.byName.set(name, order);
  }

  get all(): readonly JointOrder[] {
    return [...this.byName.values()];
  }
}

/** AnsweredOrders contains the results of the recorded orders, for the callers and for a second run in which the tools request the same signatures. */
export class AnsweredOrders {
  private readonly results = new Map<string, JointResult>();

  add(order: JointOrder, result: JointResult): void {
    this.results.set(nameOfOrder(order), result);
  }

  /** First result that is not a signature, if any. */
  get firstFailure(): NotSigned | undefined {
    for (const result of this.results.values()) if (result.kind !== 'signed') return result;
    return undefined;
  }

  has(order: JointOrder): boolean {
    return this.results.has(nameOfOrder(order));
  }

  of(order: JointOrder): JointResult {
    return this.results.get(nameOfOrder(order)) ?? UNKNOWN;
  }

  /** @param note prints the reason to the terminal if a tool receives no signature */
  answer(order: SignatureOrder, note: (line: string) => void): Promise<SignatureResult> {
    const result = this.of(order);
    if (result.kind !== 'signed') note(`sealwright: not signed (${result.kind}): ${result.detail}`);
    return Promise.resolve(result);
  }
}

const UNKNOWN: NotSigned = {
  kind: 'refused',
  detail:
    'The tool requested a different digest than in the first run. Either its signatures include the signing time, or the file has changed.',
};
