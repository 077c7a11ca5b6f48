import { bird } from './daemons/bird.ts';
import { neighbourTests } from './neighbour.ts';

neighbourTests(bird);
