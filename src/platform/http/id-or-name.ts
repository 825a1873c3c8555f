import { Injectable, mixin, type PipeTransform, type Type } from '@nestjs/common';
import { DataSource, type EntityTarget, type FindOptionsWhere } from 'typeorm';
import { isId } from '../database/new-id.js';
import { missing } from '../errors/problem.js';
import type { IdOrNameParam } from './id-param.js';

interface Named {
  readonly id: string;
  readonly name: string;
}

const CONTROL = /\p{C}/u;

/**
 * resolvesNames returns a pipe that replaces the name in a path with the ID of the resource. A UUID is always an ID. The pipe runs after the guards, so a
 * caller without the permission cannot find out which names exist.
 *
 * @param kind resource in the code of the error, `<kind>.missing`
 * @param where condition under which names are unique
 */
export function resolvesNames<Row extends Named>(
  kind: string,
  entity: EntityTarget<Row>,
  where: FindOptionsWhere<Row> = {},
): Type<PipeTransform<IdOrNameParam, Promise<IdOrNameParam>>> {
  @Injectable()
  class NameResolver implements PipeTransform<IdOrNameParam, Promise<IdOrNameParam>> {
    constructor(private readonly db: DataSource) {}

    async transform(param: IdOrNameParam): Promise<IdOrNameParam> {
      return Object.assign(param, { id: await this.idOf(param.id) });
    }

    private async idOf(idOrName: string): Promise<string> {
      if (isId(idOrName)) return idOrName.toLowerCase();
      if (CONTROL.test(idOrName)) throw missing(kind);
      const found = await this.db.manager.findOneBy(entity, { ...where, name: idOrName });
      if (found === null) throw missing(kind);
      return found.id;
    }
  }
  return mixin(NameResolver);
}
