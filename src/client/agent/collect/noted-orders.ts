import type { AgentKey } from '../signer/agent-keys.js';
import type { AgentPurpose } from '../signer/purposes.js';
import type { NotSigned, SignatureOrder, SignatureResult } from '../signer/remote-signer.js';

/** JointOrder is one of many signatures that are asked for together. */
export interface JointOrder {
  /** Its id or name; a version where the signature must be by that one. */
  readonly key: Pick<AgentKey, 'id' | 'name'> & Partial<Pick<AgentKey, 'version'>>;
  readonly digest: Buffer;
  readonly algorithm: string;
  /** The usual one of the key without it. */
  readonly scheme?: string | undefined;
  /** `raw` without it. */
  readonly format?: string | undefined;
  readonly timestamp?: boolean;
  /** What the signatures are for, the same for all; the usual purposes of the key without it. */
  readonly purpose?: AgentPurpose | undefined;
  /** Name of the file, where it is known. */
  readonly fileName?: string | undefined;
}

export type JointResult = NotSigned | (Extract<SignatureResult, { kind: 'signed' }> & { readonly timestamp?: Buffer });

/** The same for orders that one signature answers. */
export function nameOfOrder({ key, algorithm, scheme, format = 'raw', digest }: JointOrder): string {
  return `${key.id} ${key.version ?? ''} ${algorithm} ${scheme ?? ''} ${format} ${digest.toString('hex')}`;
}

const NOTED: SignatureResult = { kind: 'withdrawn', detail: 'It was recorded, to be signed later.' };

/** NotedOrders notes which signatures tools ask for, in a run in which nothing is signed: each tool fails, and leaves its file as it is. */
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

/** AnsweredOrders holds how the noted orders ended, for those who asked and for a second run of the tools that asks for the same. */
export class AnsweredOrders {
  private readonly results = new Map<string, JointResult>();

  add(order: JointOrder, result: JointResult): void {
    this.results.set(nameOfOrder(order), result);
  }

  /** The first that did not end in a signature. */
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

  /** @param note tells the person at the terminal why a tool gets no signature */
  answer(order: SignatureOrder, note: (line: string) => void): Promise<SignatureResult> {
    const result = this.of(order);
    if (result.kind !== 'signed') note(`sealwright: not signed, ${result.kind}: ${result.detail}`);
    return Promise.resolve(result);
  }
}

const UNKNOWN: NotSigned = {
  kind: 'refused',
  detail: 'The tool requests another digest than in its first run: it signs the time, or the file has changed.',
};
