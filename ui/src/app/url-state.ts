import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

/** UrlState holds the query parameters of the URL, such as the filters of a list. */
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

/** pick returns the given parameters that are set in the URL. */
export const pick = (state: UrlState, names: readonly string[]): UrlState =>
  Object.fromEntries(names.flatMap((name) => (state[name] === undefined ? [] : [[name, state[name]]])));

export const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

interface UrlAccess {
  readonly state: UrlState;
  /** Returns the first value of a parameter. */
  readonly one: (name: string) => string | undefined;
  readonly all: (name: string) => readonly string[];
  /** Sets parameters, or removes those set to undefined. Lists return to their first page. */
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
