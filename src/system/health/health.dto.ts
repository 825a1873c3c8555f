import { ApiPropertyOptional } from '@nestjs/swagger';

export class ComponentHealth {
  /** UNKNOWN: not set up. */
  status: 'UP' | 'DOWN' | 'UNKNOWN';
  /** Only for signed-in callers. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: { detail: 'ok' } })
  details?: Record<string, unknown>;
}

export class HealthComponents {
  db: ComponentHealth;
  redis: ComponentHealth;
  hsm: ComponentHealth;
  /** Our own timestamp authority. Absent, as the two below, while the database is DOWN. */
  tsa?: ComponentHealth;
  mail?: ComponentHealth;
  /** The tree over the audit log. */
  log?: ComponentHealth;
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
export function withoutDetails({ status, components }: Health): Health {
  const parts = Object.entries(components) as [string, ComponentHealth][];
  const bare = parts.map(([name, part]) => [name, { status: part.status }]);
  return { status, components: Object.fromEntries(bare) as HealthComponents };
}
