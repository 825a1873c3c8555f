import { ApiPropertyOptional } from '@nestjs/swagger';

export class ComponentHealth {
  status: 'UP' | 'DOWN';
  /** Only for signed-in callers. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: { detail: 'ok' } })
  details?: Record<string, unknown>;
}

export class HealthComponents {
  db: ComponentHealth;
  redis: ComponentHealth;
  hsm: ComponentHealth;
}

/** The shape of Spring's Actuator, which monitoring tools know. */
export class Health {
  status: 'UP' | 'DEGRADED' | 'DOWN' | 'OUT_OF_SERVICE';
  components: HealthComponents;
}

export class Liveness {
  status: 'UP';
}

/** What strangers see: which part, not why. */
export function withoutDetails({ status, components: { db, redis, hsm } }: Health): Health {
  return {
    status,
    components: { db: { status: db.status }, redis: { status: redis.status }, hsm: { status: hsm.status } },
  };
}
