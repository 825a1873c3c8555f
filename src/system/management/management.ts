import { type INestApplicationContext, Logger } from '@nestjs/common';
import type { Config } from '../../platform/config/config.js';
import { setStartReason, startReason } from '../../platform/observability/health-indicators.js';
import { untilSchemaFits } from '../../platform/instances/schema-gate.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { type Health, isServing } from '../health/health.dto.js';
import { HealthService } from '../health/health.service.js';
import { json, type ManagementAnswers, waitingAnswers } from './management-answers.js';
import { ManagementServer } from './management-server.js';

/**
 * Management serves the management address of a process, from startup on, if SVC_MANAGEMENT_PORT is set. Until the schema is compatible, the API address
 * returns the same responses, so that an operator who opens the console can read the remedy.
 */
export class Management {
  private readonly logger = new Logger('Start');
  private readonly own = new ManagementServer(waitingAnswers(startReason));

  constructor(private readonly config: Config) {}

  async open(): Promise<void> {
    const { management } = this.config;
    if (management === undefined) return;
    const port = await this.own.listen(management.port, management.host);
    this.logger.log(`serving health and metrics at http://${management.host}:${port}`);
  }

  /** Waits for the database and its schema. */
  async untilSchemaFits(): Promise<void> {
    const inPlace = new ManagementServer(waitingAnswers(startReason));
    let opened: Promise<boolean> | undefined;
    await untilSchemaFits(this.config, (reason) => {
      setStartReason(reason);
      this.logger.warn(reason);
      if (this.config.answers) opened ??= this.openInPlace(inPlace);
    });
    if (await opened) await inPlace.close();
    setStartReason();
  }

  /** Reports whether the API address could be opened. The address may still be in use by the previous process. */
  private async openInPlace(server: ManagementServer): Promise<boolean> {
    try {
      await server.listen(this.config.port, this.config.host);
      return true;
    } catch (error) {
      this.logger.warn(`unable to serve the reason on the API port: ${String(error)}`);
      return false;
    }
  }

  /** Replaces the waiting responses with the responses of the running application. */
  serve(app: INestApplicationContext): void {
    this.own.serve(answersOf(app.get(HealthService), app.get(Metrics)));
  }
}

function answersOf(health: HealthService, { registry }: Metrics): ManagementAnswers {
  const said = (state: Health) => json(isServing(state) ? 200 : 503, state);
  return {
    health: async () => said(await health.read()),
    readiness: async () => said(await health.readiness()),
    signing: async () => said(await health.signing()),
    liveness: async () => json(200, { status: 'UP' }),
    metrics: async () => ({ status: 200, type: registry.contentType, text: await registry.metrics() }),
    other: async () => json(404, { status: 404, detail: 'Path not found. This port serves only health and metrics.' }),
  };
}
