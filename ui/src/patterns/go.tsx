import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { readSearch } from '../app/url-state.js';

interface GoProps {
  /** Path with or without a query, such as `/assets?level=HIGH`. */
  readonly to: string;
  readonly children: ReactNode;
  readonly className?: string;
  readonly 'aria-label'?: string;
  readonly 'aria-current'?: 'page';
}

/** Go links to a page of the console without a reload. The page module is prefetched when the pointer comes near. */
export function Go({ to, children, ...rest }: GoProps) {
  const [path, query = ''] = to.split('?');
  return (
    <Link to={path} search={readSearch(query) as never} {...rest}>
      {children}
    </Link>
  );
}
