import { ApiProperty } from '@nestjs/swagger';
import { OneOf, Optional, QueryInt, Text } from '../../../platform/http/fields/fields.js';
import { PageQuery } from '../../../platform/http/page.js';
import type { Page } from '../../../platform/http/cursors.js';
import { INGEST_PHASES, type IngestPhase } from '../staging/ingest-order.js';
import { IngestView } from './ingest.dto.js';
import { IMPORT_STATUSES, type ImportStatus, type InventoryImport } from './inventory-import.entity.js';

export class ImportsQuery extends PageQuery {
  @Optional(OneOf(IMPORT_STATUSES)) status?: ImportStatus;
  /** Only imports with this `source`. @example registry.example.com/app */
  @Optional(Text(1, 500)) source?: string;
}

export class ImportWaitQuery {
  /** Maximum number of seconds to wait until the import is final. */
  @Optional(QueryInt(0, 30)) wait?: number;
}

export class DocumentFaultView {
  /** JSON Pointer (RFC 6901) into the body. @example /components/3/name */
  pointer: string;
  /** @example "must have a name" */
  detail: string;
}

export class ImportProblemView {
  /** Error code, as listed in docs/errors.md. @example document.invalid */
  code: string;
  /** @example "The document is not valid CycloneDX (1 faults)." */
  detail: string;
  errors: DocumentFaultView[];
}

export class ImportView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  status: ImportStatus;
  /** Name of the source in the request. @example registry.example.com/app */
  source?: string;
  /** Size of the body in bytes. @example 143654912 */
  bytes: number;
  /** Current phase of the import. */
  @ApiProperty({ enum: INGEST_PHASES, nullable: true }) phase: IngestPhase | null;
  /** Number of assets that the phase has processed. @example 120000 */
  done: number;
  /** Number of assets in the document; 0 until the document has been read. @example 300000 */
  total: number;
  /** Number of attempts; more than 1 if the worker of an earlier attempt was lost. @example 1 */
  attempts: number;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  /** The response that a synchronous call would have returned. Present if the status is DONE. */
  outcome?: IngestView;
  /** The reason for the rejection. Present if the status is REFUSED. */
  problem?: ImportProblemView;

  static of(row: InventoryImport): ImportView {
    const { id, status, bytes, phase, done, total, attempts, createdAt, startedAt, endedAt, outcome, problem } = row;
    return {
      id,
      status,
      ...(row.order.source === undefined ? {} : { source: row.order.source }),
      bytes,
      phase,
      done,
      total,
      attempts,
      createdAt,
      startedAt,
      endedAt,
      ...(outcome === null ? {} : { outcome: IngestView.of(outcome) }),
      ...(problem === null
        ? {}
        : {
            problem: {
              code: problem.code,
              detail: problem.message,
              errors: (problem.errors ?? []).map(({ pointer, detail }) => ({
                pointer,
                detail,
              })),
            },
          }),
    };
  }
}

export class ImportPageView {
  items: ImportView[];
  /** @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of({ items, nextCursor }: Page<InventoryImport>): ImportPageView {
    return { items: items.map((row) => ImportView.of(row)), nextCursor };
  }
}
