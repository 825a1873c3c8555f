import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../access/caller.js';
import { allHoldNow } from '../auth/rights/credential-rights.js';
import { EventAnnouncer } from '../events/event-announcer.service.js';
import { recordAlertEvents } from '../platform/events/alert-events.js';
import { Problem } from '../platform/errors/problem.js';
import { ScheduledRuns } from '../platform/events/schedule-targets.js';
import { sensorEvent } from './sensor-event.js';

/** State of a sensor, as reported by the sensor. */
export interface SensorHeartbeat {
  readonly version?: string;
  /** Error since the last heartbeat, other than the failure of a scan. */
  readonly error?: string;
  readonly scan?: EndedScan;
}

export interface EndedScan {
  /** The command that requested the scan. */
  readonly command?: string;
  readonly ok: boolean;
  readonly assets?: number;
  /** Result of the scan, or the reason why the scan failed. */
  readonly detail?: string;
}

export interface Orders {
  readonly sensor: string;
  readonly heartbeatSeconds: number;
  /** Version of the sensor and its configuration; incremented by every change. */
  readonly version: number;
  readonly configuration: Record<string, unknown>;
  readonly commands: readonly { readonly id: string; readonly settings: Record<string, unknown> }[];
}

interface KnownSensor {
  readonly id: string;
  readonly name: string;
  readonly heartbeatSeconds: number;
  readonly version: number;
  readonly configuration: Record<string, unknown>;
  readonly wasSilent: boolean;
  /** Whether this is the first heartbeat, or the first heartbeat after a silence. */
  readonly wasAbsent: boolean;
}

/** A command that the sensor has not completed, with the IDs whose rights the command requires. */
interface PendingCommand {
  readonly id: string;
  readonly settings: Record<string, unknown>;
  readonly runId: string;
  readonly isPaused: boolean;
  readonly givers: string[];
}

/** Scopes required to schedule a sensor scan. */
const REQUIRED_SCOPES = ['schedules:write', 'sensors:write'] as const;

/** Heartbeats processes sensor heartbeats, and returns the sensor's configuration and commands. */
@Injectable()
export class Heartbeats {
  constructor(
    private readonly db: DataSource,
    private readonly runs: ScheduledRuns,
    private readonly events: EventAnnouncer,
  ) {}

  /**
   * Records a heartbeat and returns the configuration and the pending commands. The result of a command is recorded only once, even if the heartbeat is
   * repeated.
   */
  async beat(caller: Caller, heartbeat: SensorHeartbeat): Promise<Orders> {
    return this.db.transaction(async (tx) => {
      const sensor = await touch(tx, caller, heartbeat);
      if (sensor === undefined)
        throw new Problem(
          'missing',
          'sensor.unknown-key',
          'This API key does not belong to a sensor. Use the key that was returned when the sensor was registered or its key was renewed.',
        );
      const { id, name, heartbeatSeconds, version, configuration } = sensor;
      if (sensor.wasSilent) {
        await recordAlertEvents(tx, [{ type: 'sensor.silent', subject: { kind: 'sensor', id, name }, over: true }]);
      }
      if (sensor.wasAbsent) await this.events.announce(tx, sensorEvent('sensor.connected', { id, name }));
      if (heartbeat.scan !== undefined) await this.endScan(tx, sensor, heartbeat.scan);
      const commands = await this.pendingCommands(tx, id);
      await tx.query(`UPDATE sensor_command SET taken_at = now() WHERE id = ANY($1::uuid[]) AND taken_at IS NULL`, [
        commands.map((command) => command.id),
      ]);
      return { sensor: id, heartbeatSeconds, version, configuration, commands };
    });
  }

  /** Returns the pending commands of a sensor. Cancels commands whose schedule was paused or whose author may no longer start the scan. */
  private async pendingCommands(tx: EntityManager, sensorId: string): Promise<Orders['commands']> {
    const pending: PendingCommand[] = await tx.query(
      `SELECT c.id, c.settings, c.run_id AS "runId", r.asked_by IS NULL AND NOT s.enabled AS "isPaused",
         CASE WHEN r.asked_by IS NULL THEN array_prepend(s.made_by, coalesce(s.made_behind, '{}')) ELSE ARRAY[r.asked_by] END AS givers
       FROM sensor_command c JOIN schedule_run r ON r.id = c.run_id JOIN schedule s ON s.id = r.schedule_id
       WHERE c.sensor_id = $1 AND c.ended_at IS NULL AND r.status = 'RUNNING' ORDER BY c.id LIMIT 10`,
      [sensorId],
    );
    const commands: Orders['commands'][number][] = [];
    for (const { id, settings, runId, isPaused, givers } of pending) {
      if (!isPaused && (await allHoldNow(tx, givers, REQUIRED_SCOPES))) {
        commands.push({ id, settings });
        continue;
      }
      const detail = isPaused
        ? 'The schedule was paused.'
        : 'The author of the run is no longer allowed to start the scan.';
      await tx.query(`UPDATE sensor_command SET ended_at = now(), ok = false, detail = $2 WHERE id = $1`, [id, detail]);
      await this.runs.end(tx, runId, { ok: false, detail });
    }
    return commands;
  }

  private async endScan(tx: EntityManager, sensor: KnownSensor, scan: EndedScan): Promise<void> {
    const { command, ok, assets, detail = ok ? `${assets ?? 0} assets` : 'The scan failed.' } = scan;
    if (command !== undefined) {
      const [ended]: [{ runId: string | null }[], number] = await tx.query(
        `UPDATE sensor_command SET ended_at = now(), ok = $3, detail = $4
         WHERE id = $1 AND sensor_id = $2 AND ended_at IS NULL RETURNING run_id AS "runId"`,
        [command, sensor.id, ok, detail],
      );
      const [first] = ended;
      if (first === undefined) return; // already reported
      if (first.runId !== null) return this.runs.end(tx, first.runId, { ok, detail });
    }
    if (ok) return;
    const subject = { kind: 'sensor', id: sensor.id, name: sensor.name };
    await recordAlertEvents(tx, [{ type: 'scan.failed', subject, facts: { why: detail } }]);
  }
}

/** Updates the row of the enabled sensor to which the caller's API key belongs. Returns undefined if there is no such sensor. */
async function touch(
  tx: EntityManager,
  caller: Caller,
  { version, error, scan }: SensorHeartbeat,
): Promise<KnownSensor | undefined> {
  const failure = error ?? (scan?.ok === false ? (scan.detail ?? 'The scan failed.') : null);
  const [rows]: [KnownSensor[], number] = await tx.query(
    `UPDATE sensor s SET last_heartbeat_at = now(), silent_since = NULL, last_address = $2,
       software_version = coalesce($3, s.software_version),
       last_scan_at = CASE WHEN $4 THEN now() ELSE s.last_scan_at END,
       last_scan_assets = CASE WHEN $4 THEN $5 ELSE s.last_scan_assets END,
       last_error = CASE WHEN $6::text IS NOT NULL THEN $6 WHEN $4 THEN NULL ELSE s.last_error END,
       last_error_at = CASE WHEN $6::text IS NOT NULL THEN now() WHEN $4 THEN NULL ELSE s.last_error_at END
     FROM (SELECT id, silent_since, last_heartbeat_at = created_at AS is_new FROM sensor WHERE id = (SELECT sensor_id FROM sensor_api_key WHERE api_key_id = $1) AND enabled FOR UPDATE) before
     WHERE s.id = before.id
     RETURNING s.id, s.name, s.heartbeat_seconds AS "heartbeatSeconds", s.version, s.configuration,
       before.silent_since IS NOT NULL AS "wasSilent",
       before.silent_since IS NOT NULL OR before.is_new AS "wasAbsent"`,
    [caller.id, caller.origin.address, version ?? null, scan?.ok === true, scan?.assets ?? null, failure],
  );
  return rows[0];
}
