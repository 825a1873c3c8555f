import { Injectable, Logger } from '@nestjs/common';
import { HostSightings } from '../../hosts/records/host-sightings.service.js';
import { ProbeFault, type ProbeFaultCode } from '../probing/bounded-stream.js';
import { isOwnFault } from '../probing/own-fault.js';
import { probeSsh, type SshFacts } from '../ssh/ssh-probe.js';
import { probeTls, type TlsFacts } from '../tls/tls-probe.js';
import { assetsOfSsh, assetsOfTls } from './found-assets.js';
import { ProbeBudget } from './probe-budget.js';
import type { ProbeResult } from '../model/probe-result.js';
import type { ScanResult } from '../model/scan-result.entity.js';

const OUTCOMES: Record<ProbeFaultCode, ProbeResult['outcome']> = {
  closed: 'CLOSED',
  timeout: 'TIMEOUT',
  throttled: 'THROTTLED',
  flood: 'FLOOD',
  malformed: 'NOT_THE_PROTOCOL',
  'hung-up': 'HUNG_UP',
};

/** Asks who answers what it is. Whatever the answer, there is one. */
@Injectable()
export class NetworkProbes {
  private readonly logger = new Logger(NetworkProbes.name);

  constructor(
    private readonly budget: ProbeBudget,
    private readonly sightings: HostSightings,
  ) {}

  /** `address` was checked against the scope just now. Undefined when another scan is asking at this moment. */
  async ask({ target, port, protocol, scanId }: ScanResult, address: string): Promise<ProbeResult | undefined> {
    try {
      if (protocol === 'tls') return await this.tls(target, address, port);
      if (await this.budget.claim(address, port)) return await this.ssh(address, port, scanId);
      const last = await this.budget.last(address, port);
      if (last === undefined) return undefined;
      return {
        outcome: last.outcome as ProbeResult['outcome'],
        facts: last.facts ?? undefined,
        hostId: last.hostId ?? undefined,
        reused: true,
      };
    } catch (error) {
      if (error instanceof ProbeFault) return { outcome: OUTCOMES[error.code], facts: { detail: error.message } };
      throw error;
    }
  }

  private async ssh(address: string, port: number, scanId: string): Promise<ProbeResult> {
    const facts = await this.answered(probeSsh(address, port));
    const software = facts.version.replace(/^SSH-[0-9.]+-/, '');
    const hostId = await this.sightings.saw({ address, port, software, scanId, hostKeys: facts.hostKeys });
    return { outcome: 'FOUND', hostId, facts: sshView(facts), found: assetsOfSsh(placeOf(address, port), facts) };
  }

  private async tls(target: string, address: string, port: number): Promise<ProbeResult> {
    const facts = await this.answered(probeTls(address, port, target === address ? undefined : target));
    return { outcome: 'FOUND', facts: tlsView(facts), found: assetsOfTls(placeOf(target, port), facts) };
  }

  /** Whatever a server sends is about that server: what we fail to read must not stop the scan of the others. */
  private answered<T>(probe: Promise<T>): Promise<T> {
    return probe.catch((error: unknown) => {
      if (error instanceof ProbeFault || isOwnFault(error)) throw error;
      this.logger.warn(`an answer could not be read: ${String(error)}`);
      throw new ProbeFault('malformed', 'an answer that cannot be read');
    });
  }
}

function placeOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function sshView({ hostKeys, ...facts }: SshFacts): Record<string, unknown> {
  const keys = hostKeys.map(({ blob, proven, kex }) => {
    const type = blob.toString('latin1', 4, 4 + blob.readUInt32BE());
    return { type, publicKey: `${type} ${blob.toString('base64')}`, possession: proven ? 'proven' : 'claimed', kex };
  });
  return { ...facts, hostKeys: keys };
}

function tlsView({ chain, ...facts }: TlsFacts): Record<string, unknown> {
  return { ...facts, chain: chain.map((der) => der.toString('base64')) };
}
