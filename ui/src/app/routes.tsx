import { RouterProvider } from '@tanstack/react-router';
import { router } from './router.js';

// The page of the address is fetched before anything is drawn.
void router.load();

export function Routes() {
  return <RouterProvider router={router} />;
}
