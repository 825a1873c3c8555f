import { ApiPropertyOptional } from '@nestjs/swagger';

export class ComponentHealth {
  /** State of the component. UNKNOWN if the component is not configured or if the state cannot be determined. */
  status: 'UP' | 'DOWN' | 'UNKNOWN';
  /** Details of the component, for authenticated callers only. */
  @ApiPropertyOptional({ type: 'object', additionalProperties: true, example: { detail: 'ok' } })
  details?: Record<string, unknown>;
}

export class HealthComponents {
  /** UP while this process commits its own row to the database every few seconds. */
  db: ComponentHealth;
  /** UP while Redis accepts writes. */
  redis?: ComponentHealth;
  hsm?: ComponentHealth;
  /** Offset of each process clock from the database clock. In readiness responses, present only if the clock of this process is wrong. */
  clock?: ComponentHealth;
  /** UP if all migrations of this version are recorded in the database. DOWN after the database was replaced under a running process. */
  schema?: ComponentHealth;
  /** DOWN if no process runs background work. Like all components below, absent while the database is DOWN. */
  workers?: ComponentHealth;
  /** DOWN if a background job of any process has failed three times in a row. `details.jobs` lists the jobs of this process. */
  background?: ComponentHealth;
  /** Health of the service's own timestamp authority. */
  tsa?: ComponentHealth;
  mail?: ComponentHealth;
  /** Whether an administrator can sign in; UNKNOWN while there are no users. */
  administrators?: ComponentHealth;
  /** Whether the stored secrets of authenticators, identity providers and webhooks can be decrypted. */
  secrets?: ComponentHealth;
  /** UP if no credential or right was changed outside the service. */
  rows?: ComponentHealth;
  /** State of the Merkle tree over the audit log. */
  log?: ComponentHealth;
}

/** Health of the service, in the format of Spring Boot Actuator, which many monitoring tools support. */
export class Health {
  /** State of the service. */
  status: 'UP' | 'DEGRADED' | 'DOWN' | 'OUT_OF_SERVICE';
  components: HealthComponents;
}

export class Liveness {
  /** Always `UP`, because the process can respond. */
  status: 'UP';
}

export function isServing({ status }: Health): boolean {
  return status === 'UP' || status === 'DEGRADED';
}

/** Returns the view for unauthenticated callers, which shows which component fails, but not why. */
export function withoutDetails({ status, components }: Health): Health {
  const parts = Object.entries(components) as [string, ComponentHealth][];
  const bare = parts.map(([name, part]) => [name, { status: part.status }]);
  return { status, components: Object.fromEntries(bare) as HealthComponents };
}
