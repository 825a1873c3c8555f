import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { ScanGapsService } from '../../../hosts/records/scan-gaps.service.js';
import { RowWatch } from '../../../platform/database/row-watch.js';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../../platform/http/cursors.js';
import type { Followed } from '../../../platform/http/event-stream.js';
import type { PageQuery } from '../../../platform/http/page.js';
import { missing } from '../../../platform/errors/problem.js';
import { RotationStep, RotationTarget } from '../model/rotation-target.entity.js';
import { isOver, type RotationStatus } from '../model/rotation-state.js';
import { Rotation } from '../model/rotation.entity.js';

export interface ShownRotation {
  readonly rotation: Rotation;
  /** Number of targets by state, or by outcome if they are finished. */
  readonly progress: Record<string, number>;
  /** Warnings about hosts that the last scan could not read completely. */
  readonly warnings: readonly string[];
}

export interface ShownTarget {
  readonly target: RotationTarget;
  readonly steps: RotationStep[];
}

/** RotationsReader reads rotations, their targets, and their progress. */
@Injectable()
export class RotationsReader implements BeforeApplicationShutdown {
  /** Watches the rotations that clients follow. */
  readonly watch = new RowWatch(async (ids) =>
    (await this.all(ids)).map((shown) => ({ id: shown.rotation.id, mark: markOf(shown) })),
  );

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly gaps: ScanGapsService,
  ) {}

  beforeApplicationShutdown(): void {
    this.watch.stop();
  }

  async get(id: string): Promise<ShownRotation> {
    const rotation = await this.db.manager.findOneBy(Rotation, { id });
    if (rotation === null) throw missing('rotation');
    const [shown] = await this.shown([rotation]);
    return shown as ShownRotation;
  }

  /** Reads a rotation in the form that `answerEvents` expects. */
  async follow<View>(id: string, viewOf: (shown: ShownRotation) => View): Promise<Followed<View>> {
    const shown = await this.get(id);
    return { id, view: viewOf(shown), mark: markOf(shown), final: isOver(shown.rotation.status) };
  }

  private async all(ids: readonly string[]): Promise<ShownRotation[]> {
    return this.shown(await this.db.manager.findBy(Rotation, { id: In([...ids]) }));
  }

  /** Returns rotations, newest first. */
  async list(filter: PageQuery & { keyId?: string; status?: RotationStatus }): Promise<Page<ShownRotation>> {
    const { limit, cursor, keyId, status } = filter;
    const list = `ssh-rotations ${keyId ?? ''} ${status ?? ''}`;
    const query = this.db.createQueryBuilder(Rotation, 'rotation');
    if (keyId !== undefined) query.andWhere('rotation.keyId = :keyId', { keyId });
    if (status !== undefined) query.andWhere('rotation.status = :status', { status });
    const page = await this.cursors.newest(list, query, { limit, cursor });
    return { ...page, items: await this.shown(page.items) };
  }

  /** Returns targets in wave order, with the log of their steps. */
  async targets(id: string, { limit = DEFAULT_LIMIT, cursor }: PageQuery): Promise<Page<ShownTarget>> {
    await this.get(id);
    const list = `ssh-rotation-targets ${id}`;
    const [after] = this.cursors.read(list, cursor) ?? [];
    const query = this.db
      .createQueryBuilder(RotationTarget, 'target')
      .where('target.rotationId = :id', { id })
      .orderBy('target.id')
      .take(limit + 1);
    if (after !== undefined) query.andWhere('target.id > :after', { after });
    const page = this.cursors.page(list, await query.getMany(), limit, (row) => [row.id]);
    const targetIds = page.items.map((target) => target.id);
    const steps = await this.db.manager.find(RotationStep, {
      where: { targetId: In(targetIds) },
      order: { id: 'ASC' },
    });
    const items = page.items.map((target) => ({
      target,
      steps: steps.filter(({ targetId }) => targetId === target.id),
    }));
    return { ...page, items };
  }

  private async shown(rotations: Rotation[]): Promise<ShownRotation[]> {
    const rows: { id: string; place: string; count: number }[] = await this.db.query(
      `SELECT rotation_id AS id, CASE outcome WHEN 'OPEN' THEN state ELSE outcome END AS place, count(*)::int AS count
       FROM ssh_rotation_target WHERE rotation_id = ANY($1::uuid[]) GROUP BY 1, 2 ORDER BY 2`,
      [rotations.map(({ id }) => id)],
    );
    const warnings = await this.gaps.sentences();
    return rotations.map((rotation) => ({
      rotation,
      warnings,
      progress: Object.fromEntries(
        rows.filter(({ id }) => id === rotation.id).map(({ place, count }) => [place, count]),
      ),
    }));
  }
}

/** Returns a string that changes whenever the content of an event changes: the rotation, or the number of targets by state and outcome. */
function markOf({ rotation, progress }: ShownRotation): string {
  const counts = Object.entries(progress).map(([state, count]) => `${state}=${count}`);
  return [rotation.status, rotation.wave, rotation.nextKeyId ?? '-', ...counts].join(' ');
}
