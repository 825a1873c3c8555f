import { Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { AssetsFound } from '../../../platform/queue/inbox-messages.js';
import { Inbox } from '../../../platform/queue/inbox.js';
import { Problem } from '../../../platform/errors/problem.js';
import { IngestThreads } from './ingest-threads.js';

/** FoundAssetsConsumer ingests the assets found by other modules, in the sensor format. */
@Injectable()
export class FoundAssetsConsumer {
  private readonly logger = new Logger(FoundAssetsConsumer.name);

  constructor(
    inbox: Inbox,
    private readonly threads: IngestThreads,
  ) {
    inbox.serve('inventory.assets-found', (found) => this.take(found));
  }

  private async take({ reporter, source, complete, assets }: AssetsFound): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify({ source, complete, assets }));
    try {
      const { rejected } = await this.threads.take({
        bytes: bytes.buffer,
        kind: 'json',
        mode: 'strict',
        source,
        password: undefined,
        caller: { kind: 'system', id: reporter, name: reporter, ownerId: reporter, mayWrite: false },
        requestId: randomUUID(),
        address: '',
        idempotencyKey: undefined,
      });
      if (rejected.length > 0)
        this.logger.error(
          `${rejected.length} assets from ${reporter} were rejected: ${rejected[0]?.pointer} ${rejected[0]?.detail}`,
        );
    } catch (error) {
      // A retry would be rejected for the same reason.
      if (!(error instanceof Problem && (error.kind === 'refused' || error.kind === 'malformed'))) throw error;
      this.logger.error(`assets from ${reporter} were rejected: ${error.code}`);
    }
  }
}
