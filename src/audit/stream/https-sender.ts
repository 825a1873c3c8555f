import { readFileSync } from 'node:fs';
import type { StreamDestination } from '../../platform/config/stream-destinations.js';
import { type OutboundAnswer, type OutboundClient, secondsAsked } from '../../platform/outbound/outbound-client.js';
import { jsonOf, fitted, type StreamedLeaf, withoutParts } from './formats/streamed-leaf.js';
import { ocsfOf } from './formats/ocsf.format.js';
import { ReceiverRefused, type StreamSender } from './stream-sender.js';

const PATIENCE_MS = 30_000;
/** Maximum size of a body in octets. Receivers accept this size by default. */
const MAX_BODY_BYTES = 512 * 1024;
const CONTENT_TOO_LARGE = 413;

/**
 * Sends leaves by POST as newline-delimited JSON. A body counts as received only if the receiver responds with 2xx. A body whose response was lost is sent
 * again with the same leaves.
 */
export class HttpsSender implements StreamSender {
  private before: number | undefined;
  private maxBytes = MAX_BODY_BYTES;
  private readonly closing = new AbortController();

  constructor(
    private readonly destination: StreamDestination,
    private readonly outbound: Pick<OutboundClient, 'send'>,
  ) {}

  /** Sends one body. */
  async send(leaves: readonly [StreamedLeaf, ...StreamedLeaf[]]): Promise<number> {
    const write = this.destination.format === 'json' ? jsonOf : ocsfOf;
    const lines = leaves.map((leaf) => `${fitted(leaf, this.destination.maxBytes, write)}\n`);
    for (;;) {
      const count = fittingCount(lines, this.maxBytes);
      const body = lines.slice(0, count).join('');
      if ((await this.post(body)) !== CONTENT_TOO_LARGE) {
        this.before = leaves[0].number + count;
        return count;
      }
      if (count > 1) this.maxBytes = Math.floor(body.length / 2);
      else lines[0] = shorter(leaves[0], body, write);
    }
  }

  async acknowledged(): Promise<number | undefined> {
    const { before } = this;
    this.before = undefined;
    return before;
  }

  close(): void {
    this.closing.abort();
  }

  /** Sends a body and returns the status. Rejects unless the status is 2xx or 413. */
  private async post(body: string): Promise<number> {
    const { files, url } = this.destination;
    const read = (path: string | undefined) => (path === undefined ? undefined : readFileSync(path, 'utf8').trim());
    const authorization = read(files.authorization);
    const answer = await this.outbound.send({
      method: 'POST',
      url: url.href,
      headers: {
        'content-type': 'application/x-ndjson',
        'user-agent': 'Sealwright',
        ...(authorization === undefined ? {} : { authorization }),
      },
      body,
      tls: { ca: read(files.ca), cert: read(files.cert), key: read(files.key) },
      timeoutMs: PATIENCE_MS,
      signal: this.closing.signal,
    });
    return statusOf(answer);
  }
}

function statusOf(answer: OutboundAnswer): number {
  const { status } = answer;
  if ((status >= 200 && status < 300) || status === CONTENT_TOO_LARGE) return status;
  const asked = secondsAsked(answer);
  throw new ReceiverRefused(`the receiver responded with ${status}`, Number.isFinite(asked) ? asked : undefined);
}

/** Returns the number of lines that fit into a body of at most `maxBytes`, but at least one. The lines are ASCII. */
function fittingCount(lines: readonly string[], maxBytes: number): number {
  let bytes = 0;
  for (const [count, { length }] of lines.entries()) {
    bytes += length;
    if (bytes > maxBytes) return Math.max(1, count);
  }
  return lines.length;
}

/** Returns the leaf without its detail, for a receiver that rejects a single leaf as too large. Throws if the leaf cannot be made shorter. */
function shorter(leaf: StreamedLeaf, line: string, write: (leaf: StreamedLeaf) => string): string {
  const short = `${write(withoutParts(leaf))}\n`;
  if (short.length >= line.length) throw new ReceiverRefused('the receiver responded with 413 to a single entry');
  return short;
}
