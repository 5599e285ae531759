/* The newest 5.x against the server. */

import { describe } from 'node:test';
import { answers } from '../cases/answers.js';
import { failures, quota } from '../cases/refusals.js';
import { regenerates } from '../cases/regenerates.js';
import { resumes } from '../cases/resumes.js';
import { stops } from '../cases/stops.js';
import { place } from '../harness.js';
import * as sdk from './sdk.js';

describe('ai 5', () => {
  const here = place();
  answers(sdk, here);
  stops(sdk, here);
  resumes(sdk, here);
  regenerates(sdk, here);
  failures(sdk, here);
});

describe('ai 5, one message in ten minutes', () => {
  quota(sdk, place({ FLATLINE_USER_LIMIT: '1/10m' }));
});
