import { Controller, Get, Header, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiServiceUnavailableResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Needs, Public } from '../../access/access.js';
import { Credentials } from '../../auth/callers/credentials.js';
import { Metrics } from '../../platform/metrics/metrics.js';
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

  /** Tells whether the service can work: 200, or 503 when it cannot. Signed-in callers see why. */
  @Get('health')
  @Public()
  @ApiServiceUnavailableResponse({ type: Health })
  async getHealth(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Health> {
    const health = await this.health.read();
    void reply.status(isServing(health) ? 200 : 503);
    return (await this.isSignedIn(request)) ? health : withoutDetails(health);
  }

  /** Tells load balancers whether to send calls here: 200 while this process can answer, also while the HSM is away. */
  @Get('health/readiness')
  @Public()
  @ApiServiceUnavailableResponse({ type: Health })
  async getReadiness(@Res({ passthrough: true }) reply: FastifyReply): Promise<Health> {
    const health = await this.health.readiness();
    void reply.status(isServing(health) ? 200 : 503);
    return withoutDetails(health);
  }

  /** Tells load balancers that send signing calls elsewhere whether this process can sign now: 200 with database and HSM. */
  @Get('health/signing')
  @Public()
  @ApiServiceUnavailableResponse({ type: Health })
  async getSigning(@Res({ passthrough: true }) reply: FastifyReply): Promise<Health> {
    const health = await this.health.signing();
    void reply.status(isServing(health) ? 200 : 503);
    return withoutDetails(health);
  }

  /** Tells supervisors that the process runs; asks nothing else. */
  @Get('health/liveness')
  @Public()
  getLiveness(): Liveness {
    return { status: 'UP' };
  }

  /** Shows the metrics of this process in Prometheus' text format. */
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
