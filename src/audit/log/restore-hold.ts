import { Logger } from '@nestjs/common';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyVault } from '../../hsm/key-vault.js';
import type { Config } from '../../platform/config/config.js';
import { setStartReason } from '../../platform/observability/health-indicators.js';
import type { Problem } from '../../platform/errors/problem.js';
import type { LogRestore } from './log-restore.js';

const LOOK_EVERY_MS = 2000;
const RETRY_AFTER_SECONDS = 30;

/**
 * RestoreHold implements restore mode: a process whose database and token are not from the same time does no work until an operator accepts the database.
 * The check runs before any module starts working. In restore mode, every call returns 503 with the reason, for load balancers and users.
 */
export class RestoreHold {
  private readonly logger = new Logger('Restore');

  constructor(
    private readonly restore: LogRestore,
    private readonly vault: KeyVault,
    private readonly config: Config,
  ) {}

  /** Resolves once this process may work. Also resolves if the HSM or the database does not respond; the check then continues in the background. */
  async pass(): Promise<void> {
    await this.vault.start();
    const fault = await this.ask();
    if (fault === 'unknown') this.askOn();
    else if (fault !== undefined) await this.hold(fault);
  }

  private async hold(first: Problem): Promise<void> {
    const server = this.config.answers ? await this.answer(first) : undefined;
    const reason = `restore mode: this process serves no requests and does no background work. ${first.code}: ${first.message}`;
    this.logger.error(reason);
    setStartReason(reason);
    let fault: Problem | 'unknown' | undefined = first;
    while (fault !== undefined) {
      await sleep(LOOK_EVERY_MS);
      fault = await this.ask();
    }
    setStartReason();
    this.logger.log('the restored database was accepted, starting normal operation');
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  /** Repeats the check until the HSM and the database respond. If the check then fails, the process exits, and enters restore mode after its restart. */
  private askOn(): void {
    this.logger.warn(
      'unable to verify that the database and the token match, because one of them is not responding; still trying',
    );
    const timer = setInterval(() => {
      void this.ask().then((fault) => {
        if (fault === 'unknown') return;
        clearInterval(timer);
        if (fault === undefined) return;
        this.logger.fatal(`${fault.code}: ${fault.message}`);
        process.kill(process.pid, 'SIGTERM');
      });
    }, LOOK_EVERY_MS);
    timer.unref();
  }

  private ask(): Promise<Problem | 'unknown' | undefined> {
    return this.restore.fault().catch(() => 'unknown' as const);
  }

  private async answer({ code, message }: Problem): Promise<Server> {
    const problem = {
      type: `urn:sealwright:problem:${code}`,
      title: 'Service Unavailable',
      status: 503,
      detail: message,
      code,
    };
    const server = createServer((request, response) => {
      const isAlive = request.url === '/actuator/health/liveness';
      const isHealth = request.url?.startsWith('/actuator/') === true;
      const held = { status: 'OUT_OF_SERVICE', components: { log: { status: 'DOWN' } } };
      const body = isAlive ? { status: 'UP' } : isHealth ? held : problem;
      response.writeHead(isAlive ? 200 : 503, {
        'content-type': isHealth ? 'application/json' : 'application/problem+json',
        'cache-control': 'no-store',
        'retry-after': String(RETRY_AFTER_SECONDS),
        connection: 'close',
      });
      response.end(JSON.stringify(body));
    });
    const { port, host } = this.config;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    return server;
  }
}
