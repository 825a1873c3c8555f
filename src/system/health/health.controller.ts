import { Controller, Get, Header, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiServiceUnavailableResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Needs, Public } from '../../access/access.js';
import { Credentials } from '../../auth/credentials/callers/credentials.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { Health, isServing, Liveness, withoutDetails } from './health.dto.js';
import { HealthService } from './health.service.js';

@ApiTags('System')
@Controller('actuator')
export class HealthController {
  constructor(
    private readonly health: HealthService,
    private readonly credentials: Credentials,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Get health
   * @remarks Returns 200 if the service is ready, otherwise 503. Authenticated callers also get the details of each component.
   */
  @Get('health')
  @Public()
  @ApiServiceUnavailableResponse({ type: Health })
  async getHealth(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Health> {
    const health = await this.health.read();
    void reply.status(isServing(health) ? 200 : 503);
    return (await this.isSignedIn(request)) ? health : withoutDetails(health);
  }

  /**
   * Get readiness
   * @remarks Readiness probe, for load balancers: returns 200 while this process can serve requests, even if the HSM is unavailable.
   */
  @Get('health/readiness')
  @Public()
  @ApiServiceUnavailableResponse({ type: Health })
  async getReadiness(@Res({ passthrough: true }) reply: FastifyReply): Promise<Health> {
    const health = await this.health.readiness();
    void reply.status(isServing(health) ? 200 : 503);
    return withoutDetails(health);
  }

  /**
   * Get signing readiness
   * @remarks For load balancers that route signing separately: returns 200 if this process can sign, which requires the database and the HSM.
   */
  @Get('health/signing')
  @Public()
  @ApiServiceUnavailableResponse({ type: Health })
  async getSigning(@Res({ passthrough: true }) reply: FastifyReply): Promise<Health> {
    const health = await this.health.signing();
    void reply.status(isServing(health) ? 200 : 503);
    return withoutDetails(health);
  }

  /**
   * Get liveness
   * @remarks Liveness probe: returns 200 while the process is running. No dependencies are checked.
   */
  @Get('health/liveness')
  @Public()
  getLiveness(): Liveness {
    return { status: 'UP' };
  }

  /**
   * Get metrics
   * @remarks Returns the metrics of this process in the Prometheus text format.
   */
  @Get('prometheus')
  @Needs('system:read')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @ApiOkResponse({ content: { 'text/plain': { schema: { type: 'string', example: 'sealwright_queue_reachable 1' } } } })
  getMetrics(): Promise<string> {
    return this.metrics.registry.metrics();
  }

  private async isSignedIn(request: FastifyRequest): Promise<boolean> {
    if (request.headers.authorization === undefined) return false;
    return this.credentials.callerOfRequest(request).then(
      () => true,
      () => false,
    );
  }
}
