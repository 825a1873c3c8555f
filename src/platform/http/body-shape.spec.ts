import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, MaxLength, ValidateIf, ValidateNested } from 'class-validator';
import { describe, expect, it } from 'vitest';
import { Nullable } from './body-shape.js';
import { faultsOfBody, validationPipe } from './validation.js';

class Part {
  @IsInt()
  size: number;

  @IsOptional()
  @IsInt()
  weight?: number;
}

class Named {
  @IsString()
  @MaxLength(5)
  name: string;
}

class Whole {
  @ValidateNested()
  @Type(() => Part)
  must: Part;

  @ValidateIf((body: Whole) => body.may !== undefined)
  @ValidateNested()
  @Type(() => Part)
  may?: Part;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => Part)
  many?: Part[];

  @IsOptional()
  @Nullable()
  @IsInt()
  until?: number | null;
}

const must = { size: 1 };

describe('a request body', () => {
  it.each([
    ['all that there is', { must, may: must, many: [must, { size: 2, weight: 3 }], until: 5 }],
    ['what must be there', { must }],
    ['nothing in a list', { must, many: [] }],
    ['null where it takes away', { must, until: null }],
  ])('with %s is valid', async (_, body) => {
    expect(await faultsOfBody(Whole, body, '')).toEqual([]);
  });

  it.each([
    ['without an object that must be there', {}, '/must', 'is required'],
    ['with null in its place', { must: null }, '/must', 'must be either object or array'],
    ['with a list in its place', { must: [must] }, '/must', 'must be an object'],
    ['with an empty list in its place', { must: [] }, '/must', 'must be an object'],
    ['with null for a list', { must, many: null }, '/many', 'must not be null; omit it'],
    ['with a list of lists', { must, many: [[]] }, '/many/0', 'must be an object'],
    ['with null deeper down', { must, many: [{ size: 1, weight: null }] }, '/many/0/weight', 'must not be null'],
  ])('%s is rejected', async (_, body, pointer, detail) => {
    expect(await faultsOfBody(Whole, body, '')).toEqual([{ pointer, detail: expect.stringContaining(detail) }]);
  });
});

describe('only the most basic fault is reported for', () => {
  it.each([
    ['nothing', {}, 'is required'],
    ['another type', { name: 7 }, 'name must be a string'],
    ['a length', { name: 'longer' }, 'name must be shorter than or equal to 5 characters'],
    ['null', { name: null }, 'name must be a string'],
  ])('%s', async (_, body, detail) => {
    expect(await faultsOfBody(Named, body, '/one')).toEqual([{ pointer: '/one/name', detail }]);
  });
});

it('a body with thousands of unknown members is refused with the first hundred', async () => {
  const stray = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`stray-${i}`, i]));
  const body = { must, many: Array.from({ length: 1000 }, () => ({ size: 1, ...stray })) };
  const refusal: unknown = await validationPipe()
    .transform(body, { type: 'body', metatype: Whole })
    .catch((error: unknown) => error);
  const { errors = [] } = refusal as { errors?: { pointer: string; detail: string }[] };
  expect(errors).toHaveLength(100);
  expect(errors[41]).toEqual({ pointer: '/many/1/stray-1', detail: 'unknown field' });
});
