import type { AssetsFound, SshKeysFound } from '../../platform/inbox/inbox-messages.js';
import type { ScanOutcome } from './scan-result.entity.js';

/** A port that accepted a connection. */
export interface OpenPort {
  readonly target: string;
  readonly address: string | null;
  readonly port: number;
}

/** What a probe found out about one target and port. */
export interface ProbeResult {
  readonly outcome: Exclude<ScanOutcome, 'PENDING'>;
  readonly facts?: Record<string, unknown>;
  readonly hostId?: string;
  readonly reused?: boolean;
  /** For the inventory. */
  readonly found?: AssetsFound;
  /** For whoever keeps SSH keys. */
  readonly keys?: SshKeysFound;
}
