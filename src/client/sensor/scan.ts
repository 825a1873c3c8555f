import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { appendFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { batchAssetsOf } from './batch.js';
import { endpointOf } from './endpoints/endpoint.js';
import type { SensorFinding } from './model/finding.js';
import { scanEndpoint, lookAtTree } from './endpoint-scan.js';
import type { Reported, Spool, SpooledScan } from './spool.js';
import { unreadableReasonOf } from './tree.js';

/** Approximate number of findings per batch. All findings of a file are in the same batch. */
const PER_BATCH = 2000;
const MAX_FAULTS = 5;
/** Maximum total length, in characters, of the findings held in memory while findings are split into parts. */
const MAX_UNWRITTEN = 32 * 1024 * 1024;

export interface SensorScanOrder {
  /** Name of the machine or checkout that is scanned. */
  readonly source: string;
  readonly paths: readonly string[];
  readonly endpoints: readonly string[];
  readonly exclude: readonly string[];
  readonly storePasswords: readonly string[];
}

/** SensorScan scans all targets of an order and writes the findings to the spool. Nothing may be delivered before the scan is complete. */
export class SensorScan {
  /** Descriptions of the first faults. `faultCount` counts all faults. */
  private readonly faults: string[] = [];
  private faultCount = 0;
  private readonly reported: Record<string, Reported> = {};
  private batches = 0;
  private assets = 0;
  private targets = 0;

  private constructor(
    private readonly order: SensorScanOrder,
    private readonly spool: Spool,
    private readonly place: { readonly id: string; readonly directory: string },
    private readonly before: Readonly<Record<string, Reported>>,
  ) {}

  static async run(order: SensorScanOrder, spool: Spool, command: string | undefined): Promise<SpooledScan> {
    const scan = new SensorScan(order, spool, await spool.begin(), await spool.state());
    for (const path of order.paths) await scan.path(path);
    for (const endpoint of order.endpoints) await scan.endpoint(endpoint);
    return scan.commit(command);
  }

  private async path(path: string): Promise<void> {
    const target = `${this.order.source}:${path}`;
    const faults = this.faultCount;
    const fault = await stat(path).then(() => undefined, unreadableReasonOf);
    if (fault !== undefined) return this.fault(path, fault);
    const found = new Found(this.place.directory, this.before[target]?.parts ?? 1);
    const onFault = (where: string, reason: string) => this.fault(where, reason);
    for await (const finding of lookAtTree(path, { ...this.order, onFault })) await found.add(finding);
    await this.report(target, found, this.faultCount === faults);
  }

  private async endpoint(text: string): Promise<void> {
    const { name } = endpointOf(text);
    const found = new Found(this.place.directory, 1);
    try {
      for (const finding of await scanEndpoint(text)) await found.add(finding);
    } catch (error) {
      await found.close();
      this.fault(name, unreadableReasonOf(error));
      return;
    }
    await this.report(name, found, true);
  }

  private fault(where: string, reason: string): void {
    this.faultCount += 1;
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${where}: ${reason}`);
  }

  /** Adds the batches of a target. Each part is a separate source. Sources that were reported earlier and no longer exist are reported as empty. */
  private async report(target: string, found: Found, complete: boolean): Promise<void> {
    this.targets += 1;
    const sources: string[] = [];
    const parts = await found.split();
    for (const [index, findings] of parts.entries()) {
      const source = parts.length === 1 ? target : `${target} (${index + 1} of ${parts.length})`;
      sources.push(source);
      await this.batch(source, complete, await findings());
    }
    const earlier = this.before[target]?.sources ?? [];
    const gone = complete ? earlier.filter((source) => !sources.includes(source)) : [];
    for (const source of gone) await this.batch(source, true, []);
    const kept = complete ? [] : earlier.filter((source) => !sources.includes(source));
    this.reported[target] = { parts: parts.length, sources: [...sources, ...kept] };
  }

  private async batch(source: string, complete: boolean, findings: readonly SensorFinding[]): Promise<void> {
    const assets = batchAssetsOf(findings);
    this.batches += 1;
    this.assets += assets.length;
    await this.spool.addBatch(this.batches, JSON.stringify({ scanId: this.place.id, source, complete, assets }));
  }

  private async commit(command: string | undefined): Promise<SpooledScan> {
    const { faults, faultCount, assets, targets, reported } = this;
    const shown = [...faults, ...(faultCount > faults.length ? [`and ${faultCount - faults.length} more`] : [])];
    const detail = [`${assets} assets`, ...(faults.length === 0 ? [] : [`not read: ${shown.join('; ')}`])].join(', ');
    const scan = { id: this.place.id, command, ok: targets > 0, assets, detail, reported };
    await this.spool.commit(scan);
    return scan;
  }
}

/** Findings of one target, stored on disk to limit memory use for large trees. */
class Found {
  private static made = 0;
  private readonly file: string;
  private readonly stream;
  private count = 0;

  constructor(
    private readonly directory: string,
    private readonly leastParts: number,
  ) {
    this.file = join(directory, `found-${(Found.made += 1)}.ndjson`);
    this.stream = createWriteStream(this.file, { mode: 0o600 });
  }

  async add(finding: SensorFinding): Promise<void> {
    this.count += 1;
    if (!this.stream.write(`${JSON.stringify(finding)}\n`)) await once(this.stream, 'drain');
  }

  async close(): Promise<void> {
    this.stream.end();
    await finished(this.stream);
  }

  /**
   * Splits the findings into parts. The number of parts is a power of two that never decreases. While the number stays the same, a file is always in the same
   * part.
   */
  async split(): Promise<(() => Promise<SensorFinding[]>)[]> {
    await this.close();
    let parts = this.leastParts;
    while (this.count / parts > PER_BATCH && parts < 65_536) parts *= 2;
    if (parts === 1) return [() => readFindings(this.file)];
    const names = Array.from({ length: parts }, (_, part) => `${this.file}.${part}`);
    // Lines are appended in turn instead of through one stream per part, because a process can open only about a thousand files.
    let unwritten = new Map<number, string>();
    let size = 0;
    const write = async () => {
      for (const [part, lines] of unwritten) await appendFile(`${this.file}.${part}`, lines, { mode: 0o600 });
      [unwritten, size] = [new Map(), 0];
    };
    for (const name of names) await appendFile(name, '', { mode: 0o600 });
    for await (const finding of findingsIn(this.file)) {
      const [part, line] = [partOf(finding, parts), `${JSON.stringify(finding)}\n`];
      unwritten.set(part, (unwritten.get(part) ?? '') + line);
      size += line.length;
      if (size > MAX_UNWRITTEN) await write();
    }
    await write();
    return names.map((name) => () => readFindings(name));
  }
}

function partOf({ place }: SensorFinding, parts: number): number {
  return createHash('sha256').update(place.location).digest().readUInt32BE() % parts;
}

async function* findingsIn(file: string): AsyncGenerator<SensorFinding> {
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    yield JSON.parse(line) as SensorFinding;
  }
}

async function readFindings(file: string): Promise<SensorFinding[]> {
  const findings: SensorFinding[] = [];
  for await (const finding of findingsIn(file)) findings.push(finding);
  return findings;
}
