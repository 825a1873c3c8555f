import { ApiPropertyOptional } from '@nestjs/swagger';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { IdRef, Int, ListOf, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { PageOf } from '../../platform/http/fields/page-of.js';
import { PageQuery } from '../../platform/http/page.js';
import { SCAN_OUTCOMES, type ScanOutcome, type ScanResult } from '../model/scan-result.entity.js';
import { type Scan, SCAN_KINDS, SCAN_STATUSES, type ScanKind, type ScanStatus } from '../model/scan.entity.js';
import type { ScanProgress, ShownScan } from './scans.reader.js';

export class CreateScanBody {
  @OneOf(SCAN_KINDS, { example: 'ssh-network' }) kind: ScanKind;
  /** The scope of the scan; not allowed for `ssh-deep`. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Optional(IdRef()) scopeId?: string;
  /** Addresses, networks and names within the scope; everything in it when absent. @example ["192.0.2.0/28", "www.example.com"] */
  @Optional(ListOf(Text(1, 254), { min: 1, max: 100 })) targets?: string[];
  /** Of the scope's ports; all of them when absent. @example [22] */
  @Optional(ListOf(Int(1, 65_535), { min: 1, max: 50, unique: true })) ports?: number[];
  /** For `ssh-deep`: ids of hosts; every host with a credential when absent. @example ["01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11"] */
  @Optional(ListOf(IdRef(), { min: 1, max: 1000, unique: true })) hosts?: string[];
  /** For `ssh-deep`: hosts with this label, `key:value` or `key`. @example env:prod */
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
  /** Doors that were open. @example 17 */
  answered: number;
  /** Number of these that are still pending. @example 3 */
  pending: number;
}

export class ScanListView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  id: string;
  kind: ScanKind;
  status: ScanStatus;
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  scopeId?: string;
  /** Networks and names; ids of hosts for `ssh-deep`. @example ["192.0.2.0/28"] */
  targets: string[];
  /** @example [22] */
  ports: number[];
  /** Total number of probes. @example 65536 */
  total: number;
  /** Probes that are done for good. @example 32768 */
  cursor: number;
  /** Workers that had it. @example 1 */
  attempts: number;
  /** Reason for the status FAILED. @example scan.worker-lost */
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
  /** The target as requested; the ID of a host for `ssh-deep`. @example 192.0.2.7 */
  target: string;
  /** The address that was connected to. @example 192.0.2.7 */
  address?: string;
  /** @example 22 */
  port: number;
  /** @example ssh */
  protocol: string;
  outcome: ScanOutcome;
  /** Facts of the result; docs/discovery.md names the members. @example {"version": "SSH-2.0-OpenSSH_9.2p1"} */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) facts?: Record<string, unknown>;
  /** The host that it is. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  hostId?: string;
  /** true: another scan probed the target less than a minute before, and these are its facts. @example false */
  reused: boolean;
  at?: Date;

  static of(row: ScanResult): ScanResultView {
    return viewOf(ScanResultView, present(row));
  }
}

export class ScanResultPage extends PageOf(ScanResultView) {}
