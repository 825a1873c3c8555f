import { ApiPropertyOptional } from '@nestjs/swagger';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { IdRef, Int, ListOf, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { PageQuery } from '../../platform/http/page.js';
import { SCAN_OUTCOMES, type ScanOutcome, type ScanResult } from '../scan-result.entity.js';
import { type Scan, SCAN_KINDS, SCAN_STATUSES, type ScanKind, type ScanStatus } from '../scan.entity.js';
import type { ScanProgress, ShownScan } from './scans.reader.js';

export class CreateScanBody {
  @OneOf(SCAN_KINDS, { example: 'ssh-network' }) kind: ScanKind;
  /** Scope of the scan. Not allowed for `ssh-deep`. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) scopeId?: string;
  /** Addresses, networks and names within the scope. Defaults to all networks and names in the scope. @example ["192.0.2.0/28", "www.example.com"] */
  @Optional(ListOf(Text(1, 254), { min: 1, max: 100 })) targets?: string[];
  /** Ports within the scope. Defaults to all ports of the scope. @example [22] */
  @Optional(ListOf(Int(1, 65_535), { min: 1, max: 50, unique: true })) ports?: number[];
  /** For `ssh-deep`: IDs of hosts. Defaults to every host with a credential. @example ["01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11"] */
  @Optional(ListOf(IdRef(), { min: 1, max: 1000, unique: true })) hosts?: string[];
  /** For `ssh-deep`: only hosts with this label, `key:value` or `key`. @example env:prod */
  @Optional(Text(1, 200)) label?: string;
}

export class ScanQuery extends PageQuery {
  @Optional(OneOf(SCAN_STATUSES)) status?: ScanStatus;
}

export class ScanResultQuery extends PageQuery {
  @Optional(OneOf(SCAN_OUTCOMES)) outcome?: ScanOutcome;
}

export class ProgressView implements ScanProgress {
  /** @example 42 */
  percent: number;
  /** Number of open ports found. @example 17 */
  answered: number;
  /** Number of open ports that are not yet probed. @example 3 */
  pending: number;
}

export class ScanListView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  kind: ScanKind;
  status: ScanStatus;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  scopeId?: string;
  /** Networks and names; for `ssh-deep`, IDs of hosts. @example ["192.0.2.0/28"] */
  targets: string[];
  /** @example [22] */
  ports: number[];
  /** Total number of target and port combinations. @example 65536 */
  total: number;
  /** Number of target and port combinations probed so far. @example 32768 */
  cursor: number;
  /** Number of times a worker claimed the scan. @example 1 */
  attempts: number;
  /** Error code if the scan failed. @example scan.worker-lost */
  failureCode?: string;
  /** @example "Ann Example" */
  requestedBy: string;
  createdAt: Date;
  startedAt?: Date;
  finishedAt?: Date;

  static of(row: Scan): ScanListView {
    const { attempt } = row;
    return viewOf(ScanListView, present(row), { attempts: attempt });
  }
}

export class ScanView extends ScanListView {
  progress: ProgressView;

  static override of(row: ShownScan): ScanView {
    return Object.assign(ScanListView.of(row), { progress: row.progress });
  }
}

export class ScanPage extends PageOf(ScanListView) {}

export class ScanResultView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  /** Target as requested; for `ssh-deep`, the ID of a host. @example 192.0.2.7 */
  target: string;
  /** Address used for the connection. @example 192.0.2.7 */
  address?: string;
  /** @example 22 */
  port: number;
  /** @example ssh */
  protocol: string;
  outcome: ScanOutcome;
  /** Facts about the target. docs/discovery.md describes the members. @example {"version": "SSH-2.0-OpenSSH_9.2p1"} */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) facts?: Record<string, unknown>;
  /** ID of the host, if the target is a known host. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId?: string;
  /** Whether the facts are reused from another scan that probed the target less than a minute earlier. @example false */
  reused: boolean;
  at?: Date;

  static of(row: ScanResult): ScanResultView {
    return viewOf(ScanResultView, present(row));
  }
}

export class ScanResultPage extends PageOf(ScanResultView) {}
