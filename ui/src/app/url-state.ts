import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

/** Query parameters of the address: the filters of a list, as a link that can be shared. */
export type UrlState = Readonly<Record<string, string | readonly string[]>>;

export function readSearch(search: string): UrlState {
  const state: Record<string, string | string[]> = {};
  for (const [name, value] of new URLSearchParams(search)) {
    const before = state[name];
    if (before === undefined) state[name] = value;
    else state[name] = Array.isArray(before) ? [...before, value] : [before, value];
  }
  return state;
}

export function writeSearch(state: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (typeof one === 'string' && one !== '') search.append(name, one);
    }
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** The named parameters that are set in the address. */
export const pick = (state: UrlState, names: readonly string[]): UrlState =>
  Object.fromEntries(names.flatMap((name) => (state[name] === undefined ? [] : [[name, state[name]]])));

export const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

interface UrlAccess {
  readonly state: UrlState;
  /** The first value of this name. */
  readonly one: (name: string) => string | undefined;
  readonly all: (name: string) => readonly string[];
  /** Changes some names; undefined removes. Lists begin again at their first page. */
  readonly change: (changes: Readonly<Record<string, string | readonly string[] | undefined>>) => void;
}

export function useUrlState(): UrlAccess {
  const state: UrlState = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback<UrlAccess['change']>(
    (changes) => {
      void navigate({
        to: '.',
        search: (before: UrlState) => ({ ...before, cursor: undefined, ...changes }),
        resetScroll: false,
      } as never);
    },
    [navigate],
  );
  return { state, one: (name) => listOf(state[name])[0], all: (name) => listOf(state[name]), change };
}
