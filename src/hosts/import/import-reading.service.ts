import { Injectable } from '@nestjs/common';
import { DataSource, MoreThan } from 'typeorm';
import { pagesById } from '../../platform/database/pages-by-id.js';
import { Problem } from '../../platform/errors/problem.js';
import { BoundedThreads, ThreadEnded } from '../../platform/work/bounded-thread.js';
import { Host } from '../model/host.entity.js';
import type { ImportThreadOrder, ImportThreadReply } from './host-import-thread.js';
import type { KnownPlace } from './import-reader.js';
import type { ImportFormat, ImportItem } from './import-result.js';

/** Maximum number of concurrent threads. Further imports are queued. */
const MAX_THREADS = 2;
/** Time limit for reading a file. The largest file of each format takes about a second. */
const DEADLINE_MS = 30_000;
const HEAP_MB = 256;

/** ImportReading reads files of hosts in worker threads, because parsing a large file would block the event loop. */
@Injectable()
export class ImportReading {
  private readonly threads = new BoundedThreads(MAX_THREADS);

  constructor(private readonly db: DataSource) {}

  /**
   * @param caller ID of the caller; callers are served in turn
   * @param signal stops the thread when the client disconnects
   * @throws Problem `host-import.format`, `host-import.too-large`, `host-import.cancelled`
   */
  async read(
    { format, text }: { readonly format: ImportFormat; readonly text: string },
    caller: string,
    signal?: AbortSignal,
  ): Promise<ImportItem[]> {
    const hasHashes = format === 'known-hosts' && text.includes('|1|');
    const known = hasHashes ? await this.knownPlaces() : [];
    const reply = await this.replyTo({ format, text, known }, caller, signal);
    if ('items' in reply) return reply.items.map(withBuffers);
    throw refused(reply.refusal.code, reply.refusal.detail);
  }

  /** Returns all hosts, because a hashed name can be resolved only by hashing every candidate. */
  private async knownPlaces(): Promise<KnownPlace[]> {
    const select = { id: true, name: true, address: true, port: true } as const;
    const known: KnownPlace[] = [];
    const page = (after: string, take: number) =>
      this.db.manager.find(Host, { select, where: { id: MoreThan(after) }, order: { id: 'ASC' }, take });
    for await (const hosts of pagesById(page))
      known.push(...hosts.map(({ name, address, port }) => ({ name, address, port })));
    return known;
  }

  private async replyTo(input: ImportThreadOrder, caller: string, signal?: AbortSignal): Promise<ImportThreadReply> {
    const file = new URL('./host-import-thread.js', import.meta.url);
    const limits = { deadlineMs: DEADLINE_MS, heapMb: HEAP_MB, signal };
    try {
      return await this.threads.run({ file, name: 'host-import', caller, input, ...limits });
    } catch (error) {
      if (!(error instanceof ThreadEnded) || error.why === 'failed') throw error;
      if (error.why === 'cancelled') throw cancelled();
      throw refused(
        'host-import.too-large',
        'exceeds the time or memory limit of an import: split the file into several imports',
      );
    }
  }
}

export function cancelled(): Problem {
  return new Problem(
    'unavailable',
    'host-import.cancelled',
    'The import was cancelled because the client closed the connection.',
  );
}

function refused(code: string, detail: string): Problem {
  const pointer = '/text';
  return new Problem('refused', code, `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

function withBuffers(item: ImportItem): ImportItem {
  const keys = item.keys.map((one) => ({ ...one, key: { ...one.key, blob: Buffer.from(one.key.blob) } }));
  return { ...item, keys };
}
