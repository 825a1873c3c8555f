import { Injectable, Logger } from '@nestjs/common';
import { publicKeyLine, publicKeyOfBlob } from '../../formats/ssh/public-key.js';
import { HostSightings } from '../../hosts/records/host-sightings.service.js';
import { DeepScan } from '../deep/deep-scan.js';
import type { ProbeResult, ScanResult } from '../scan-result.entity.js';
import { isOwnFault, ProbeFault, type ProbeFaultCode } from '../probing/bounded-stream.js';
import type { ScanScope } from '../scan.entity.js';
import { ScopeGuard } from '../scopes/scope-guard.js';
import { probeSsh, type SshFacts } from '../ssh/ssh-probe.js';
import { probeTls, type TlsFacts } from '../tls/tls-probe.js';
import { assetsOfSsh, assetsOfTls } from './found-assets.js';
import { ProbeBudget } from './probe-budget.js';

const OUTCOMES: Record<ProbeFaultCode, ProbeResult['outcome']> = {
  closed: 'CLOSED',
  timeout: 'TIMEOUT',
  throttled: 'THROTTLED',
  flood: 'FLOOD',
  malformed: 'NOT_THE_PROTOCOL',
  'hung-up': 'HUNG_UP',
};

/**
 * TargetProber probes one open port of a scan: an SSH or TLS server without logging in, or a host by logging in. Failures caused by the server are returned as
 * outcomes, not thrown.
 */
@Injectable()
export class TargetProber {
  private readonly logger = new Logger(TargetProber.name);

  constructor(
    private readonly guard: ScopeGuard,
    private readonly budget: ProbeBudget,
    private readonly sightings: HostSightings,
    private readonly deep: DeepScan,
  ) {}

  /** Probes a port within a scope, or logs in to the host if there is no scope. Returns undefined while another scan probes the same server. */
  async probe(row: ScanResult, scope: ScanScope | undefined): Promise<ProbeResult | undefined> {
    if (scope === undefined) return this.deep.probe(row);
    const { target, address, port } = row;
    const allowed = await this.guard.allowed(scope, target, port);
    // The name may have been resolved to another address since the sweep.
    if (address === null || !allowed.includes(address)) return { outcome: 'DENIED' };
    try {
      return row.protocol === 'tls'
        ? await this.tls(target, address, port)
        : await this.sshOrLast(address, port, row.scanId);
    } catch (error) {
      if (error instanceof ProbeFault) return { outcome: OUTCOMES[error.code], facts: { detail: error.message } };
      throw error;
    }
  }

  /** Probes the server, or returns the result of the last probe if that probe was less than a minute ago. */
  private async sshOrLast(address: string, port: number, scanId: string): Promise<ProbeResult | undefined> {
    if (await this.budget.claim(address, port)) return this.ssh(address, port, scanId);
    const last = await this.budget.last(address, port);
    if (last === undefined) return undefined;
    return {
      outcome: last.outcome as ProbeResult['outcome'],
      facts: last.facts ?? undefined,
      hostId: last.hostId ?? undefined,
      reused: true,
    };
  }

  private async ssh(address: string, port: number, scanId: string): Promise<ProbeResult> {
    const facts = await this.readable(probeSsh(address, port));
    const software = facts.version.replace(/^SSH-[0-9.]+-/, '');
    const hostId = await this.sightings.saw({ address, port, software, scanId, hostKeys: facts.hostKeys });
    return { outcome: 'FOUND', hostId, facts: sshView(facts), found: assetsOfSsh(placeOf(address, port), facts) };
  }

  private async tls(target: string, address: string, port: number): Promise<ProbeResult> {
    const facts = await this.readable(probeTls(address, port, target === address ? undefined : target));
    return { outcome: 'FOUND', facts: tlsView(facts), found: assetsOfTls(placeOf(target, port), facts) };
  }

  /** Converts a parse error to a ProbeFault, so that an unreadable response is a result for its server and the scan of other servers continues. */
  private readable<T>(probe: Promise<T>): Promise<T> {
    return probe.catch((error: unknown) => {
      if (error instanceof ProbeFault || isOwnFault(error)) throw error;
      this.logger.warn(`could not parse a response: ${String(error)}`);
      throw new ProbeFault('malformed', 'the response cannot be parsed');
    });
  }
}

function placeOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function sshView({ hostKeys, ...facts }: SshFacts): Record<string, unknown> {
  const keys = hostKeys.map(({ blob, proven, kex }) => {
    const key = publicKeyOfBlob(blob);
    return { type: key.type, publicKey: publicKeyLine(key), possession: proven ? 'proven' : 'claimed', kex };
  });
  return { ...facts, hostKeys: keys };
}

function tlsView({ chain, ...facts }: TlsFacts): Record<string, unknown> {
  return { ...facts, chain: chain.map((der) => der.toString('base64')) };
}
