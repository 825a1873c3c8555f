import type { SignatureOrder, SignatureResult } from '../signer/remote-signer.js';

/** A signature that a tool asked for and that is to be asked for later, with others. */
export interface NotedOrder extends Omit<SignatureOrder, 'signal'> {
  /** Name of the file that the tool worked on, where it is known. */
  readonly fileName?: string;
}

type AskedFor = Pick<SignatureOrder, 'key' | 'algorithm' | 'scheme' | 'digest'>;

/** The same for orders that one signature answers. */
export function nameOfOrder({ key, algorithm, scheme, digest }: AskedFor): string {
  return `${key.id} ${key.version} ${algorithm} ${scheme} ${digest.toString('hex')}`;
}

const NOTED: SignatureResult = { kind: 'withdrawn', detail: 'It was noted, to be signed later.' };

/** Notes which signatures tools ask for, in a run in which nothing is signed: each tool fails, and leaves its file as it is. */
export class NotedOrders {
  private readonly byName = new Map<string, NotedOrder>();

  note({ signal: _unused, ...order }: SignatureOrder, fileName?: string): Promise<SignatureResult> {
    const name = nameOfOrder(order);
    if (!this.byName.has(name)) this.byName.set(name, { ...order, ...(fileName === undefined ? {} : { fileName }) });
    return Promise.resolve(NOTED);
  }

  get all(): readonly NotedOrder[] {
    return [...this.byName.values()];
  }
}

/** How the noted orders ended, for a second run of the tools that asks for the same. */
export class AnsweredOrders {
  private readonly results = new Map<string, SignatureResult>();

  add(order: NotedOrder, result: SignatureResult): void {
    this.results.set(nameOfOrder(order), result);
  }

  /** The first that did not end in a signature. */
  get firstFailure(): Exclude<SignatureResult, { kind: 'signed' }> | undefined {
    for (const result of this.results.values()) if (result.kind !== 'signed') return result;
    return undefined;
  }

  /** @param note tells the person at the terminal why a tool gets no signature */
  answer(order: SignatureOrder, note: (line: string) => void): Promise<SignatureResult> {
    const result = this.results.get(nameOfOrder(order)) ?? UNKNOWN;
    if (result.kind !== 'signed') note(`sealwright: not signed, ${result.kind}: ${result.detail}`);
    return Promise.resolve(result);
  }
}

const UNKNOWN: SignatureResult = {
  kind: 'refused',
  detail: 'The tool asks for another digest than in its first run: it signs the time, or the file has changed.',
};
