import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Answer, Service } from '../../test/support/service.js';
import type { Stage } from '../../test/support/stage.js';
import { startServers } from './servers.js';
import type { SilentNetwork } from './silent-network.js';

export const SETTINGS = { SVC_ALLOW_LOOPBACK: 'yes', SVC_RATE_LIMIT_PER_MINUTE: '1000000' };
export const PORTS = { ssh: 22_922, tls: 22_943 };
const POLL_MS = 1000;
const SAY_MS = 15_000;
/** Ignores SIGPIPE, so that a server that closes a connection does not terminate the whole ssh-keyscan run. */
const KEYSCAN = `trap '' PIPE; exec ssh-keyscan "$@"`;

interface Ground {
  readonly stage: Stage;
  readonly api: Service;
  readonly key: string;
  readonly directory: string;
  readonly say: (line: string) => void;
}

/** The measurements, each of which prints its result as one line. */
export class DiscoveryBench {
  constructor(private readonly ground: Ground) {}

  /** Compares a scan with ssh-keyscan. A single sshd serves all addresses with the same three host keys. */
  async besideKeyscan(hosts: number): Promise<void> {
    const { directory, stage, say } = this.ground;
    const servers = await startServers({ directory, address: '0.0.0.0', ports: { ssh: PORTS.ssh } });
    const worker = await stage.start({ role: 'worker', settings: SETTINGS });
    try {
      const bits = 32 - Math.ceil(Math.log2(hosts));
      const count = 2 ** (32 - bits);
      const ours = await this.scan('ssh-network', `127.77.0.0/${bits}`, { port: PORTS.ssh });
      const keys = ours.results.flatMap(({ facts }) => facts.hostKeys as { possession: string }[]);
      const proven = keys.filter(({ possession }) => possession === 'proven').length;
      say(
        `A scan: ${ours.results.length} of ${count} hosts, ${keys.length} keys (${proven} proven) in ${ours.seconds.toFixed(1)} s: ${(keys.length / ours.seconds).toFixed(0)} keys/s`,
      );
      const list = join(directory, 'addresses');
      writeFileSync(list, Array.from({ length: count }, (_, i) => `127.77.${i >> 8}.${i & 255}\n`).join(''));
      const start = performance.now();
      const types = ['-t', 'ed25519,ecdsa,rsa', '-p', String(PORTS.ssh), '-f', list];
      // ssh-keyscan exits with 1 if any host did not answer in time.
      const scanned = promisify(execFile)('sh', ['-c', KEYSCAN, 'sh', ...types], { maxBuffer: 2 ** 27 });
      const { stdout } = await scanned.catch((error: { stdout: string }) => error);
      const seconds = (performance.now() - start) / 1000;
      const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
      say(
        `${versionOfSsh()} ssh-keyscan: ${lines} keys (none proven) in ${seconds.toFixed(1)} s: ${(lines / seconds).toFixed(0)} keys/s`,
      );
    } finally {
      await worker.kill();
      await servers.close();
    }
  }

  /** Scans the whole network for SSH and TLS with a single worker. */
  async wholeNetwork(network: SilentNetwork): Promise<void> {
    const { stage, say } = this.ground;
    const worker = await stage.start({ role: 'worker', settings: SETTINGS });
    const before = memoryOf(worker.pid, 'VmRSS');
    const start = performance.now();
    const scans = await Promise.all([
      this.scan('ssh-network', network.cidr, { port: PORTS.ssh, worker }),
      this.scan('tls-network', network.cidr, { port: PORTS.tls, worker }),
    ]);
    const seconds = (performance.now() - start) / 1000;
    const found = scans.map(({ results }) => results.filter(({ outcome }) => outcome === 'FOUND').length);
    say(
      `${network.cidr} with ${network.live} live hosts: ${found[0]} SSH and ${found[1]} TLS servers profiled in ${seconds.toFixed(0)} s ` +
        `(SSH ${scans[0].seconds.toFixed(0)} s, TLS ${scans[1].seconds.toFixed(0)} s), one worker, ${memoryOf(worker.pid, 'VmHWM')} MB RSS at most (${before} MB before).`,
    );
    await worker.kill();
  }

  async killedHalfWay(network: SilentNetwork): Promise<void> {
    const { stage, say } = this.ground;
    const first = await stage.start({ role: 'worker', settings: SETTINGS });
    await network.counted();
    const id = await this.order('tls-network', network.cidr, PORTS.tls);
    for (;;) {
      const { cursor, total } = await this.ask('GET', `/v1/scans/${id}`);
      if (cursor >= total / 2) break;
      await sleep(20);
    }
    await first.kill('SIGKILL');
    const second = await stage.start({ role: 'worker', settings: SETTINGS });
    const { results, attempts } = await this.ended(id);
    const { attempts: sent, addresses } = await network.counted();
    say(
      `Killed half-way and gone on with: ${results.filter(({ outcome }) => outcome === 'FOUND').length} of ${network.live} TLS servers, ${attempts} workers; ` +
        `${sent} probes of ${addresses} dead addresses: ${((100 * sent) / addresses).toFixed(2)} %.`,
    );
    await second.kill();
  }

  private async scan(kind: string, cidr: string, { port, worker }: { port: number; worker?: Service }) {
    return this.ended(await this.order(kind, cidr, port), worker);
  }

  private async order(kind: string, cidr: string, port: number): Promise<string> {
    const scope = await this.ask('POST', '/v1/scan-scopes', {
      name: `${Math.random()}`,
      networks: [cidr],
      ports: [port],
    });
    return (await this.ask('POST', '/v1/scans', { kind, scopeId: scope.id })).id;
  }

  private async ended(id: string, worker?: Service) {
    for (let said = performance.now(); ;) {
      const scan = await this.ask('GET', `/v1/scans/${id}`);
      if (performance.now() - said > SAY_MS) {
        said = performance.now();
        const { percent, answered, pending } = scan.progress;
        this.ground.say(`  ${scan.kind}: ${percent} %, ${answered} answered, ${pending} wait${memoryNow(worker)}`);
      }
      if (scan.status === 'FAILED') throw new Error(JSON.stringify(scan));
      if (scan.status === 'DONE') {
        const seconds = (Date.parse(scan.finishedAt) - Date.parse(scan.startedAt)) / 1000;
        return { seconds, attempts: scan.attempts as number, results: await this.results(id) };
      }
      await sleep(POLL_MS);
    }
  }

  private async results(id: string): Promise<Answer['body'][]> {
    const all: Answer['body'][] = [];
    for (let cursor = ''; ;) {
      const page = await this.ask('GET', `/v1/scans/${id}/results?limit=200${cursor}`);
      all.push(...page.items);
      if (page.nextCursor === null) return all;
      cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
    }
  }

  private async ask(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const { api, key } = this.ground;
    const answer = await api.call(method, path, { key, body });
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
}

/** Returns the peak (VmHWM) or current (VmRSS) resident set size of the process in MB. */
function memoryOf(pid: number, line: 'VmHWM' | 'VmRSS'): number {
  const [, kilobytes = '0'] = new RegExp(`${line}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}

function memoryNow(worker: Service | undefined): string {
  return worker === undefined ? '' : `, worker ${memoryOf(worker.pid, 'VmRSS')} MB`;
}

function versionOfSsh(): string {
  return /OpenSSH_[^ ,]+/.exec(spawnSync('ssh', ['-V']).stderr.toString())?.[0] ?? 'OpenSSH';
}
