import { Injectable } from '@nestjs/common';
import { DeepScan } from '../deep/deep-scan.js';
import type { ScanScope } from '../scopes/scan-scope.entity.js';
import { ScopeGuard } from '../scopes/scope-guard.js';
import { NetworkProbes } from './network-probes.js';
import type { ProbeResult } from '../model/probe-result.js';
import type { ScanResult } from '../model/scan-result.entity.js';

/** The second half of a scan: what those are who answer. */
@Injectable()
export class TargetProber {
  constructor(
    private readonly guard: ScopeGuard,
    private readonly probes: NetworkProbes,
    private readonly deep: DeepScan,
  ) {}

  /** Without a scope: a host that is logged in to. Undefined when another scan is asking the same host at this moment. */
  async probe(row: ScanResult, scope: ScanScope | undefined): Promise<ProbeResult | undefined> {
    if (scope === undefined) return this.deep.ask(row);
    const allowed = await this.guard.allowed(scope, row.target, row.port);
    // A name that points elsewhere since the sweep is not followed.
    if (row.address === null || !allowed.includes(row.address)) return { outcome: 'DENIED' };
    return this.probes.ask(row, row.address);
  }
}
