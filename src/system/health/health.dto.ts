import { ApiPropertyOptional } from '@nestjs/swagger';

export class ComponentHealth {
  /** UNKNOWN: not set up. */
  status: 'UP' | 'DOWN' | 'UNKNOWN';
  /** Only for signed-in callers. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: { detail: 'ok' } })
  details?: Record<string, unknown>;
}

export class HealthComponents {
  /** UP while this process commits its own row in the database every few seconds. */
  db: ComponentHealth;
  /** UP while Redis accepts writes. */
  redis?: ComponentHealth;
  hsm?: ComponentHealth;
  /** Clocks of all processes against that of the database; for readiness only when that of this process is wrong. */
  clock?: ComponentHealth;
  /** UP if all migrations of this version are recorded in the database. DOWN after the database was replaced under a running process. */
  schema?: ComponentHealth;
  /** Whether any process works in the background. Absent, as all below, while the database is DOWN. */
  workers?: ComponentHealth;
  /** DOWN if a background job of any process failed three times in a row. `details.jobs` lists the jobs of this process. */
  background?: ComponentHealth;
  /** Our own timestamp authority. */
  tsa?: ComponentHealth;
  mail?: ComponentHealth;
  /** Whether an administrator can sign in; UNKNOWN while there are no users. */
  administrators?: ComponentHealth;
  /** Whether the stored secrets of authenticators, identity providers and webhooks can be decrypted. */
  secrets?: ComponentHealth;
  /** UP if no credential or right was changed outside the service. */
  rows?: ComponentHealth;
  /** State of the tree over the audit log. */
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

export function isServing({ status }: Health): boolean {
  return status === 'UP' || status === 'DEGRADED';
}

/** What strangers see: which part, not why. */
export function withoutDetails({ status, components }: Health): Health {
  const parts = Object.entries(components) as [string, ComponentHealth][];
  const bare = parts.map(([name, part]) => [name, { status: part.status }]);
  return { status, components: Object.fromEntries(bare) as HealthComponents };
}
