import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { Nullable, shapeErrors } from '../body-shape.js';
import { Flag, IdRef, Int, ListOf, Moment, OneOf, Optional, QueryInt, Text } from './fields.js';

class StageBody {
  @Text(1, 5) group: string;
}

class OrderBody {
  @Int(1, 10) count: number;
  @Optional(QueryInt(1, 200)) limit?: number;
  @Optional(Flag()) isUrgent?: boolean = false;
  @Optional(Moment()) @Nullable() until?: Date | null;
  @Optional(IdRef()) host?: string;
  @Optional(ListOf(IdRef(), { max: 2, unique: true })) members?: string[];
  @Optional(ListOf(OneOf(['read', 'write']), { min: 1, max: 2, unique: true })) scopes?: string[];
  @Optional(ListOf(StageBody, { max: 2 })) stages?: StageBody[];
}

const ID = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';

function faultsOf(body: object): string[] {
  const order = plainToInstance(OrderBody, { count: 1, ...body });
  return [...validateSync(order), ...shapeErrors(order)].map(({ property }) => property);
}

describe('field decorators', () => {
  it.each([
    {},
    { limit: '200', isUrgent: true, until: '2027-01-31T00:00:00Z' },
    { until: null, host: ID, scopes: ['read', 'write'] },
    { stages: [{ group: 'a' }, { group: 'b' }] },
  ])('accept %j', (body) => {
    expect(faultsOf(body)).toEqual([]);
  });

  it.each([
    ['count', { count: 11 }],
    ['count', { count: '1' }],
    ['limit', { limit: '1e1' }],
    ['isUrgent', { isUrgent: 'true' }],
    ['isUrgent', { isUrgent: null }],
    ['until', { until: 1_800_000_000 }],
    ['host', { host: 'web-1' }],
    ['members', { members: [ID, ID.toUpperCase()] }],
    ['members', { members: [1] }],
    ['scopes', { scopes: 'read' }],
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: ['read', 'read'] }],
    ['scopes', { scopes: ['admin'] }],
    ['stages', { stages: [{ group: '' }] }],
    ['stages', { stages: [{ group: 'a' }, { group: 'b' }, { group: 'c' }] }],
  ])('reject an invalid %s: %j', (field, body) => {
    expect(faultsOf(body)).toContain(field);
  });

  it('lower the case of IDs, so that the audit log has the IDs that the database returns', () => {
    const upper = ID.toUpperCase();
    const order = plainToInstance(OrderBody, { count: 1, host: upper, members: [upper] });
    expect([order.host, order.members]).toEqual([ID, [ID]]);
  });
});
