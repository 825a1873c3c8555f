import { Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { Cursors, DEFAULT_LIMIT, type Page } from '../../../platform/http/cursors.js';
import type { PageQuery } from '../../../platform/http/page.js';
import { Problem } from '../../../platform/errors/problem.js';
import { RotationStep } from '../model/rotation-step.entity.js';
import { RotationTarget } from '../model/rotation-target.entity.js';
import type { RotationStatus } from '../model/rotation-state.js';
import { Rotation } from '../model/rotation.entity.js';

export interface ShownRotation {
  readonly rotation: Rotation;
  /** How many targets stand where: state of the open ones, outcome of the others. */
  readonly progress: Record<string, number>;
}

export interface ShownTarget {
  readonly target: RotationTarget;
  readonly steps: RotationStep[];
}

@Injectable()
export class RotationsReader {
  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
  ) {}

  async get(id: string): Promise<ShownRotation> {
    const rotation = await this.db.manager.findOneBy(Rotation, { id });
    if (rotation === null) throw new Problem('missing', 'rotation.missing', 'There is no rotation with this id.');
    const [shown] = await this.shown([rotation]);
    return shown as ShownRotation;
  }

  /** Those of these that are there. */
  async all(ids: readonly string[]): Promise<ShownRotation[]> {
    return this.shown(await this.db.manager.findBy(Rotation, { id: In([...ids]) }));
  }

  /** Newest first. */
  async list(filter: PageQuery & { keyId?: string; status?: RotationStatus }): Promise<Page<ShownRotation>> {
    const { limit, cursor, keyId, status } = filter;
    const list = `ssh-rotations ${keyId ?? ''} ${status ?? ''}`;
    const query = this.db.createQueryBuilder(Rotation, 'rotation');
    if (keyId !== undefined) query.andWhere('rotation.keyId = :keyId', { keyId });
    if (status !== undefined) query.andWhere('rotation.status = :status', { status });
    const page = await this.cursors.newest(list, query, { limit, cursor });
    return { ...page, items: await this.shown(page.items) };
  }

  /** Targets with the log of their steps, in the order of their waves. */
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
    return rotations.map((rotation) => ({
      rotation,
      progress: Object.fromEntries(
        rows.filter(({ id }) => id === rotation.id).map(({ place, count }) => [place, count]),
      ),
    }));
  }
}
