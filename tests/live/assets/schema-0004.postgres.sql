CREATE TABLE public.varts_decisions (
    seq bigint NOT NULL,
    experiment integer NOT NULL,
    id character varying NOT NULL,
    version bigint NOT NULL,
    epoch integer NOT NULL,
    arm integer NOT NULL,
    probability double precision NOT NULL,
    estimated boolean NOT NULL,
    reason character varying NOT NULL,
    unit character varying,
    "time" bigint NOT NULL,
    salt character varying
);
CREATE SEQUENCE public.varts_decisions_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.varts_decisions_seq_seq OWNED BY public.varts_decisions.seq;
CREATE TABLE public.varts_events (
    experiment integer NOT NULL,
    version bigint NOT NULL,
    kind character varying NOT NULL,
    "time" bigint NOT NULL,
    decision character varying,
    arm integer,
    epoch integer,
    raw double precision,
    value double precision,
    body text,
    batch bigint,
    corrects character varying
);
CREATE TABLE public.varts_experiments (
    id integer NOT NULL,
    name character varying NOT NULL,
    seed bigint NOT NULL,
    created bigint NOT NULL,
    version bigint NOT NULL,
    revision bigint NOT NULL,
    rewards bigint NOT NULL,
    swept bigint NOT NULL,
    config text NOT NULL
);
CREATE SEQUENCE public.varts_experiments_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.varts_experiments_id_seq OWNED BY public.varts_experiments.id;
CREATE TABLE public.varts_schema (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.varts_statistics (
    experiment integer CONSTRAINT varts_statistics_new_experiment_not_null NOT NULL,
    metric character varying CONSTRAINT varts_statistics_new_metric_not_null NOT NULL,
    arm integer CONSTRAINT varts_statistics_new_arm_not_null NOT NULL,
    epoch integer CONSTRAINT varts_statistics_new_epoch_not_null NOT NULL,
    rewards bigint CONSTRAINT varts_statistics_new_rewards_not_null NOT NULL,
    n double precision CONSTRAINT varts_statistics_new_n_not_null NOT NULL,
    mean double precision CONSTRAINT varts_statistics_new_mean_not_null NOT NULL,
    m2 double precision CONSTRAINT varts_statistics_new_m2_not_null NOT NULL,
    m3 double precision CONSTRAINT varts_statistics_new_m3_not_null NOT NULL,
    m4 double precision CONSTRAINT varts_statistics_new_m4_not_null NOT NULL,
    origin double precision CONSTRAINT varts_statistics_new_origin_not_null NOT NULL,
    at bigint CONSTRAINT varts_statistics_new_at_not_null NOT NULL,
    version bigint CONSTRAINT varts_statistics_new_version_not_null NOT NULL
);
CREATE TABLE public.varts_units (
    experiment integer NOT NULL,
    unit character varying NOT NULL,
    arm integer NOT NULL,
    probability double precision NOT NULL,
    estimated boolean NOT NULL,
    decision character varying NOT NULL
);
ALTER TABLE ONLY public.varts_decisions ALTER COLUMN seq SET DEFAULT nextval('public.varts_decisions_seq_seq'::regclass);
ALTER TABLE ONLY public.varts_experiments ALTER COLUMN id SET DEFAULT nextval('public.varts_experiments_id_seq'::regclass);
INSERT INTO public.varts_decisions VALUES (1, 1, 'plain-1-0', 1, 1, 2, 0.3333333333333333, false, 'forced', 'unit-1', 1700000000000000, NULL);
INSERT INTO public.varts_decisions VALUES (2, 1, 'plain-2-0', 2, 1, 2, 0.3333333333333333, false, 'forced', 'unit-2', 1700000001000000, NULL);
INSERT INTO public.varts_decisions VALUES (3, 1, 'plain-3-0', 3, 1, 1, 0.3333333333333333, false, 'forced', NULL, 1700000002000000, NULL);
INSERT INTO public.varts_decisions VALUES (4, 1, 'plain-4-0', 4, 1, 2, 0.33333333333333337, false, 'policy', 'unit-4', 1700000003000000, NULL);
INSERT INTO public.varts_decisions VALUES (5, 1, 'plain-5-0', 5, 1, 0, 0.3333333333333333, false, 'forced', 'unit-0', 1700000004000000, NULL);
INSERT INTO public.varts_decisions VALUES (6, 1, 'plain-6-0', 6, 1, 2, 0.33333333333333337, false, 'policy', NULL, 1700000005000000, NULL);
INSERT INTO public.varts_decisions VALUES (7, 1, 'plain-7-0', 7, 1, 0, 0.3333333333333333, false, 'forced', 'unit-2', 1700000006000000, NULL);
INSERT INTO public.varts_decisions VALUES (8, 1, 'plain-8-0', 8, 1, 1, 0.3333333333333333, false, 'forced', 'unit-3', 1700000007000000, NULL);
INSERT INTO public.varts_decisions VALUES (9, 1, 'plain-9-0', 9, 1, 2, 0.9102574120670136, false, 'policy', NULL, 1700000008000000, NULL);
INSERT INTO public.varts_decisions VALUES (10, 1, 'plain-10-0', 10, 1, 2, 0.9186897318763536, false, 'policy', 'unit-0', 1700000009000000, NULL);
INSERT INTO public.varts_decisions VALUES (11, 1, 'plain-11-0', 11, 1, 2, 0.9077862049188677, false, 'policy', 'unit-1', 1700000010000000, NULL);
INSERT INTO public.varts_decisions VALUES (12, 1, 'plain-12-0', 12, 1, 2, 0.9099791140639234, false, 'policy', NULL, 1700000011000000, NULL);
INSERT INTO public.varts_decisions VALUES (13, 1, 'plain-13-0', 13, 1, 2, 0.9114076617072526, false, 'policy', 'unit-3', 1700000012000000, NULL);
INSERT INTO public.varts_decisions VALUES (14, 1, 'plain-14-0', 14, 1, 2, 0.9086163803882531, false, 'policy', 'unit-4', 1700000013000000, NULL);
INSERT INTO public.varts_decisions VALUES (15, 1, 'plain-15-0', 15, 1, 2, 0.9094744753355971, false, 'policy', NULL, 1700000014000000, NULL);
INSERT INTO public.varts_decisions VALUES (16, 1, 'plain-16-0', 16, 1, 2, 0.9037912842369071, false, 'policy', 'unit-1', 1700000015000000, NULL);
INSERT INTO public.varts_decisions VALUES (17, 1, 'plain-17-0', 17, 1, 2, 0.9038998837641554, false, 'policy', 'unit-2', 1700000016000000, NULL);
INSERT INTO public.varts_decisions VALUES (18, 1, 'plain-18-0', 18, 1, 2, 0.9039561743856682, false, 'policy', NULL, 1700000017000000, NULL);
INSERT INTO public.varts_decisions VALUES (19, 1, 'plain-19-0', 19, 1, 2, 0.9022946018984656, false, 'policy', 'unit-4', 1700000018000000, NULL);
INSERT INTO public.varts_decisions VALUES (20, 1, 'plain-20-0', 20, 1, 2, 0.9026580933948983, false, 'policy', 'unit-0', 1700000019000000, NULL);
INSERT INTO public.varts_decisions VALUES (21, 1, 'plain-21-0', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (22, 1, 'plain-21-1', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (23, 1, 'plain-21-2', 21, 1, 1, 0.04313879826137569, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (24, 1, 'plain-21-3', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (25, 1, 'plain-21-4', 21, 1, 2, 0.8992053109800151, false, 'policy', NULL, 1700000020000000, NULL);
INSERT INTO public.varts_decisions VALUES (26, 1, 'plain-22-0', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-2', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (27, 1, 'plain-22-1', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-3', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (28, 1, 'plain-22-2', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-4', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (29, 1, 'plain-22-3', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-0', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (30, 1, 'plain-22-4', 26, 1, 2, 0.9269303433156956, false, 'policy', 'unit-1', 1700000021000000, NULL);
INSERT INTO public.varts_decisions VALUES (31, 1, 'plain-23-0', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-3', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (32, 1, 'plain-23-1', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-4', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (33, 1, 'plain-23-2', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-0', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (34, 1, 'plain-23-3', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-1', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (35, 1, 'plain-23-4', 31, 1, 2, 0.9280813365826337, false, 'policy', 'unit-2', 1700000022000000, NULL);
INSERT INTO public.varts_decisions VALUES (36, 1, 'plain-24-0', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (37, 1, 'plain-24-1', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (38, 1, 'plain-24-2', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (39, 1, 'plain-24-3', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (40, 1, 'plain-24-4', 36, 1, 2, 0.9242604183310399, false, 'policy', NULL, 1700000023000000, NULL);
INSERT INTO public.varts_decisions VALUES (41, 1, 'plain-25-0', 42, 1, 2, 0.6938110092071293, false, 'policy', 'unit-0', 1700000024000000, NULL);
INSERT INTO public.varts_decisions VALUES (42, 1, 'plain-26-0', 43, 1, 2, 0.6929015305803332, false, 'policy', 'unit-1', 1700000025000000, NULL);
INSERT INTO public.varts_decisions VALUES (43, 1, 'plain-27-0', 44, 1, 2, 0.6928611568601593, false, 'policy', NULL, 1700000026000000, NULL);
INSERT INTO public.varts_decisions VALUES (44, 1, 'plain-28-0', 45, 1, 2, 0.6929676352155798, false, 'policy', 'unit-3', 1700000027000000, NULL);
INSERT INTO public.varts_decisions VALUES (45, 1, 'plain-29-0', 46, 1, 2, 0.6926385427284609, false, 'policy', 'unit-4', 1700000028000000, NULL);
INSERT INTO public.varts_decisions VALUES (46, 1, 'plain-30-0', 47, 1, 2, 0.6927528595299753, false, 'policy', NULL, 1700000029000000, NULL);
INSERT INTO public.varts_decisions VALUES (47, 1, 'plain-31-0', 48, 1, 2, 0.6920441823836601, false, 'policy', 'unit-1', 1700000030000000, NULL);
INSERT INTO public.varts_decisions VALUES (48, 1, 'plain-32-0', 49, 1, 3, 0.25, false, 'forced', 'unit-2', 1700000031000000, NULL);
INSERT INTO public.varts_decisions VALUES (49, 1, 'plain-33-0', 50, 1, 2, 0.6920504799224683, false, 'policy', NULL, 1700000032000000, NULL);
INSERT INTO public.varts_decisions VALUES (50, 1, 'plain-34-0', 51, 1, 3, 0.25, false, 'forced', 'unit-4', 1700000033000000, NULL);
INSERT INTO public.varts_decisions VALUES (51, 1, 'plain-35-0', 52, 1, 3, 0.3333333333333333, false, 'forced', 'unit-0', 1700000034000000, NULL);
INSERT INTO public.varts_decisions VALUES (52, 1, 'plain-36-0', 53, 1, 3, 0.855803790154169, false, 'policy', NULL, 1700000035000000, NULL);
INSERT INTO public.varts_decisions VALUES (53, 1, 'plain-37-0', 54, 1, 3, 0.9358997393588915, false, 'policy', 'unit-2', 1700000036000000, NULL);
INSERT INTO public.varts_decisions VALUES (54, 1, 'plain-38-0', 55, 1, 3, 0.9207892747791269, false, 'policy', 'unit-3', 1700000037000000, NULL);
INSERT INTO public.varts_decisions VALUES (55, 1, 'plain-39-0', 56, 1, 3, 0.9545576779356952, false, 'policy', NULL, 1700000038000000, NULL);
INSERT INTO public.varts_decisions VALUES (56, 1, 'plain-40-0', 59, 2, 1, 0.10307421188080046, false, 'floor', 'unit-0', 1700000039000000, NULL);
INSERT INTO public.varts_decisions VALUES (57, 1, 'plain-41-0', 60, 2, 3, 0.6700767507409255, false, 'floor', 'unit-1', 1700000040000000, NULL);
INSERT INTO public.varts_decisions VALUES (58, 1, 'plain-42-0', 61, 2, 3, 0.6774799081776683, false, 'policy', NULL, 1700000041000000, NULL);
INSERT INTO public.varts_decisions VALUES (59, 1, 'plain-43-0', 62, 2, 3, 0.6745918611692635, false, 'floor', 'unit-3', 1700000042000000, NULL);
INSERT INTO public.varts_decisions VALUES (60, 1, 'plain-44-0', 63, 2, 1, 0.1006816916784, false, 'floor', 'unit-4', 1700000043000000, NULL);
INSERT INTO public.varts_decisions VALUES (61, 1, 'plain-45-0', 64, 2, 3, 0.6778935724564098, false, 'policy', NULL, 1700000044000000, NULL);
INSERT INTO public.varts_decisions VALUES (62, 1, 'plain-46-0', 65, 2, 2, 0.10205873455239463, false, 'floor', 'unit-1', 1700000045000000, NULL);
INSERT INTO public.varts_decisions VALUES (63, 1, 'plain-47-0', 66, 2, 3, 0.6780914866522618, false, 'policy', 'unit-2', 1700000046000000, NULL);
INSERT INTO public.varts_decisions VALUES (64, 1, 'plain-48-0', 67, 2, 1, 0.10044324446174767, false, 'floor', NULL, 1700000047000000, NULL);
INSERT INTO public.varts_decisions VALUES (65, 1, 'plain-49-0', 68, 2, 3, 0.6771580501264667, false, 'policy', 'unit-4', 1700000048000000, NULL);
INSERT INTO public.varts_decisions VALUES (66, 2, 'rich-50-0', 1, 1, 0, 0.9288971470990565, false, 'policy', '0fc904a87253ff072bf08f7c132e5517', 1700000049000000, NULL);
INSERT INTO public.varts_decisions VALUES (67, 2, 'rich-51-0', 2, 1, 0, 0.965495973928485, false, 'policy', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000050000000, NULL);
INSERT INTO public.varts_decisions VALUES (68, 2, 'rich-52-0', 2, 1, 0, 0.5, false, 'holdout', '997853c5e724f7c36107dbe21fee62a8', 1700000051000000, NULL);
INSERT INTO public.varts_decisions VALUES (69, 2, 'rich-53-0', 2, 1, 0, 0.965495973928485, false, 'policy', '82047323da3d13321d455f28cc22f9a7', 1700000052000000, NULL);
INSERT INTO public.varts_decisions VALUES (70, 2, 'rich-54-0', 3, 1, 0, 0.9688053036077952, false, 'policy', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000053000000, NULL);
INSERT INTO public.varts_decisions VALUES (71, 2, 'rich-55-0', 4, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000054000000, NULL);
INSERT INTO public.varts_decisions VALUES (72, 2, 'rich-56-0', 5, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000055000000, NULL);
INSERT INTO public.varts_decisions VALUES (73, 2, 'rich-57-0', 7, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000056000000, NULL);
INSERT INTO public.varts_decisions VALUES (74, 2, 'rich-58-0', 9, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000057000000, NULL);
INSERT INTO public.varts_decisions VALUES (75, 2, 'rich-59-0', 10, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000058000000, NULL);
INSERT INTO public.varts_decisions VALUES (76, 2, 'rich-60-0', 11, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000059000000, NULL);
INSERT INTO public.varts_decisions VALUES (77, 2, 'rich-61-0', 12, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000060000000, NULL);
INSERT INTO public.varts_decisions VALUES (78, 2, 'rich-62-0', 12, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000061000000, NULL);
INSERT INTO public.varts_decisions VALUES (79, 2, 'rich-63-0', 12, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000062000000, NULL);
INSERT INTO public.varts_decisions VALUES (80, 2, 'rich-64-0', 13, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000063000000, NULL);
INSERT INTO public.varts_decisions VALUES (81, 2, 'rich-65-0', 14, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000064000000, NULL);
INSERT INTO public.varts_decisions VALUES (82, 2, 'rich-66-0', 15, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000065000000, NULL);
INSERT INTO public.varts_decisions VALUES (83, 2, 'rich-67-0', 17, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000066000000, NULL);
INSERT INTO public.varts_decisions VALUES (84, 2, 'rich-68-0', 19, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000067000000, NULL);
INSERT INTO public.varts_decisions VALUES (85, 2, 'rich-69-0', 20, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000068000000, NULL);
INSERT INTO public.varts_decisions VALUES (86, 2, 'rich-70-0', 21, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000069000000, NULL);
INSERT INTO public.varts_decisions VALUES (87, 2, 'rich-71-0', 22, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000070000000, NULL);
INSERT INTO public.varts_decisions VALUES (88, 2, 'rich-72-0', 22, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000071000000, NULL);
INSERT INTO public.varts_decisions VALUES (89, 2, 'rich-73-0', 22, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000072000000, NULL);
INSERT INTO public.varts_decisions VALUES (90, 2, 'rich-74-0', 23, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000073000000, NULL);
INSERT INTO public.varts_decisions VALUES (91, 2, 'rich-75-0', 24, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000074000000, NULL);
INSERT INTO public.varts_decisions VALUES (92, 2, 'rich-76-0', 25, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000075000000, NULL);
INSERT INTO public.varts_decisions VALUES (93, 2, 'rich-77-0', 27, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000076000000, NULL);
INSERT INTO public.varts_decisions VALUES (94, 2, 'rich-78-0', 29, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000077000000, NULL);
INSERT INTO public.varts_decisions VALUES (95, 2, 'rich-79-0', 30, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000078000000, NULL);
INSERT INTO public.varts_decisions VALUES (96, 2, 'rich-80-0', 32, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000079000000, NULL);
INSERT INTO public.varts_decisions VALUES (97, 2, 'rich-81-0', 33, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000080000000, NULL);
INSERT INTO public.varts_decisions VALUES (98, 2, 'rich-82-0', 34, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000081000000, NULL);
INSERT INTO public.varts_decisions VALUES (99, 2, 'rich-83-0', 35, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000082000000, NULL);
INSERT INTO public.varts_decisions VALUES (100, 2, 'rich-84-0', 36, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000083000000, NULL);
INSERT INTO public.varts_decisions VALUES (101, 2, 'rich-85-0', 37, 1, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000084000000, NULL);
INSERT INTO public.varts_decisions VALUES (102, 2, 'rich-86-0', 38, 1, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000085000000, NULL);
INSERT INTO public.varts_decisions VALUES (103, 2, 'rich-87-0', 39, 1, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000086000000, NULL);
INSERT INTO public.varts_decisions VALUES (104, 2, 'rich-88-0', 40, 1, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000087000000, NULL);
INSERT INTO public.varts_decisions VALUES (105, 2, 'rich-89-0', 41, 1, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000088000000, NULL);
INSERT INTO public.varts_decisions VALUES (106, 2, 'rich-90-0', 43, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000089000000, NULL);
INSERT INTO public.varts_decisions VALUES (107, 2, 'rich-91-0', 44, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000090000000, NULL);
INSERT INTO public.varts_decisions VALUES (108, 2, 'rich-92-0', 45, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000091000000, NULL);
INSERT INTO public.varts_decisions VALUES (109, 2, 'rich-93-0', 46, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000092000000, NULL);
INSERT INTO public.varts_decisions VALUES (110, 2, 'rich-94-0', 47, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000093000000, NULL);
INSERT INTO public.varts_decisions VALUES (111, 2, 'rich-95-0', 48, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000094000000, NULL);
INSERT INTO public.varts_decisions VALUES (112, 2, 'rich-96-0', 48, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000095000000, NULL);
INSERT INTO public.varts_decisions VALUES (113, 2, 'rich-97-0', 48, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000096000000, NULL);
INSERT INTO public.varts_decisions VALUES (114, 2, 'rich-98-0', 49, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000097000000, NULL);
INSERT INTO public.varts_decisions VALUES (115, 2, 'rich-99-0', 50, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000098000000, NULL);
INSERT INTO public.varts_decisions VALUES (116, 2, 'rich-100-0', 51, 2, 0, 0.9288971470990565, false, 'sticky', '0fc904a87253ff072bf08f7c132e5517', 1700000099000000, NULL);
INSERT INTO public.varts_decisions VALUES (117, 2, 'rich-101-0', 53, 2, 0, 0.965495973928485, false, 'sticky', 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 1700000100000000, NULL);
INSERT INTO public.varts_decisions VALUES (118, 2, 'rich-102-0', 55, 2, 0, 0.5, false, 'sticky', '997853c5e724f7c36107dbe21fee62a8', 1700000101000000, NULL);
INSERT INTO public.varts_decisions VALUES (119, 2, 'rich-103-0', 56, 2, 0, 0.965495973928485, false, 'sticky', '82047323da3d13321d455f28cc22f9a7', 1700000102000000, NULL);
INSERT INTO public.varts_decisions VALUES (120, 2, 'rich-104-0', 57, 2, 0, 0.9688053036077952, false, 'sticky', 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 1700000103000000, NULL);
INSERT INTO public.varts_decisions VALUES (121, 3, 'index-105-0', 1, 1, 0, 0.5, false, 'forced', NULL, 1700000104000000, NULL);
INSERT INTO public.varts_decisions VALUES (122, 3, 'index-106-0', 2, 1, 0, 0.5, false, 'policy', 'unit-1', 1700000105000000, NULL);
INSERT INTO public.varts_decisions VALUES (123, 3, 'index-107-0', 3, 1, 0, 0.5, false, 'policy', 'unit-2', 1700000106000000, NULL);
INSERT INTO public.varts_decisions VALUES (124, 3, 'index-108-0', 4, 1, 1, 0.5, false, 'forced', NULL, 1700000107000000, NULL);
INSERT INTO public.varts_decisions VALUES (125, 3, 'index-109-0', 5, 1, 1, 1, false, 'policy', 'unit-4', 1700000108000000, NULL);
INSERT INTO public.varts_decisions VALUES (126, 3, 'index-110-0', 6, 1, 1, 1, false, 'policy', 'unit-0', 1700000109000000, NULL);
INSERT INTO public.varts_decisions VALUES (127, 3, 'index-111-0', 7, 1, 1, 1, false, 'policy', NULL, 1700000110000000, NULL);
INSERT INTO public.varts_decisions VALUES (128, 3, 'index-112-0', 8, 1, 1, 1, false, 'policy', 'unit-2', 1700000111000000, NULL);
INSERT INTO public.varts_decisions VALUES (129, 3, 'index-113-0', 9, 1, 1, 1, false, 'policy', 'unit-3', 1700000112000000, NULL);
INSERT INTO public.varts_decisions VALUES (130, 3, 'index-114-0', 10, 1, 1, 1, false, 'policy', NULL, 1700000113000000, NULL);
INSERT INTO public.varts_decisions VALUES (131, 3, 'index-115-0', 11, 1, 1, 1, false, 'policy', 'unit-0', 1700000114000000, NULL);
INSERT INTO public.varts_decisions VALUES (132, 3, 'index-116-0', 12, 1, 1, 1, false, 'policy', 'unit-1', 1700000115000000, NULL);
INSERT INTO public.varts_decisions VALUES (133, 3, 'index-117-0', 14, 1, 1, 1, false, 'winner', NULL, 1700000116000000, NULL);
INSERT INTO public.varts_decisions VALUES (134, 3, 'index-118-0', 15, 1, 1, 1, false, 'winner', 'unit-3', 1700000117000000, NULL);
INSERT INTO public.varts_decisions VALUES (135, 3, 'index-119-0', 16, 1, 1, 1, false, 'winner', 'unit-4', 1700000118000000, NULL);
INSERT INTO public.varts_decisions VALUES (136, 4, 'asked-120-0', 1, 1, 1, 0.5, false, 'forced', NULL, 1700000119000000, 'cbfa2ca66b7bb259d2ccbb8cc3e5b6a7');
INSERT INTO public.varts_decisions VALUES (137, 4, 'asked-121-0', 2, 1, 1, 0.5, false, 'forced', 'unit-1', 1700000120000000, 'a5c06395399dd1c424bb75b68f8b7415');
INSERT INTO public.varts_decisions VALUES (138, 4, 'asked-122-0', 3, 1, 0, 0.5, false, 'forced', 'unit-2', 1700000121000000, '22b92ea3480482fc51a27788b3c4d72a');
INSERT INTO public.varts_decisions VALUES (139, 4, 'asked-123-0', 4, 1, 1, 0.5, false, 'policy', NULL, 1700000122000000, 'e9742f4f120b5850b577ac75c3492213');
INSERT INTO public.varts_decisions VALUES (140, 4, 'asked-124-0', 5, 1, 1, 0.5, false, 'policy', 'unit-4', 1700000123000000, 'ca898332eb349842009b1b775aa7e194');
INSERT INTO public.varts_decisions VALUES (141, 4, 'asked-125-0', 6, 1, 0, 0.5, false, 'forced', 'unit-0', 1700000124000000, 'b91aadcb01bfc538675cc0b14925fabd');
INSERT INTO public.varts_decisions VALUES (142, 4, 'asked-126-0', 7, 1, 1, 0.863553634547218, false, 'policy', NULL, 1700000125000000, 'a76051714ad26601f898a14014200d17');
INSERT INTO public.varts_decisions VALUES (143, 4, 'asked-127-0', 8, 1, 1, 0.8369539213919807, false, 'policy', 'unit-2', 1700000126000000, 'd691ba010efbf69eefdd975094d2517b');
INSERT INTO public.varts_decisions VALUES (144, 4, 'asked-128-0', 9, 1, 1, 0.8656602314745158, false, 'policy', 'unit-3', 1700000127000000, '6002954c856135d7bf524d2fadb37e4b');
INSERT INTO public.varts_decisions VALUES (145, 4, 'asked-129-0', 10, 1, 1, 0.8874736210748387, false, 'policy', NULL, 1700000128000000, '756425c4afd36077db9da5336b144c30');
INSERT INTO public.varts_decisions VALUES (146, 4, 'asked-130-0', 11, 1, 1, 0.8889684137844562, false, 'policy', 'unit-0', 1700000129000000, 'd22c530fd2d70bd4b4ccb1242834ec07');
INSERT INTO public.varts_decisions VALUES (147, 4, 'asked-131-0', 12, 1, 1, 0.9023947413296511, false, 'policy', 'unit-1', 1700000130000000, '3f5a5494dc74586c4beba8230f674308');
INSERT INTO public.varts_decisions VALUES (148, 4, 'asked-132-0', 14, 1, 0, 0.10927132565236417, false, 'policy', NULL, 1700000131000000, '5a1a1dea6e06f680409fe2cc26f94b57');
INSERT INTO public.varts_decisions VALUES (149, 4, 'asked-133-0', 15, 1, 1, 0.9560711958270767, false, 'policy', 'unit-3', 1700000132000000, 'df1b26eddf06166d46ae146c35a346fb');
INSERT INTO public.varts_decisions VALUES (150, 4, 'asked-134-0', 16, 1, 1, 0.9622344467623709, false, 'policy', 'unit-4', 1700000133000000, 'a95c86bfc9b520d70a3f622f54f0758b');
INSERT INTO public.varts_decisions VALUES (151, 4, 'asked-135-0', 17, 1, 1, 0.9630711583149862, false, 'policy', NULL, 1700000134000000, 'e9c9370f9e32567a5ddcc40127c6273f');
INSERT INTO public.varts_decisions VALUES (152, 4, 'asked-136-0', 18, 1, 1, 0.9674283196753192, false, 'policy', 'unit-1', 1700000135000000, '51fe48b4fcb0975c70db2d9ecd859c0e');
INSERT INTO public.varts_decisions VALUES (153, 4, 'asked-137-0', 19, 1, 1, 0.9639148119159057, false, 'policy', 'unit-2', 1700000136000000, '8a1a460f2648967a218ac1d42218e70d');
INSERT INTO public.varts_decisions VALUES (154, 4, 'asked-138-0', 20, 1, 1, 0.966762839491272, false, 'policy', NULL, 1700000137000000, '5bc63dfffb3ba44b025229d0a6927baa');
INSERT INTO public.varts_decisions VALUES (155, 4, 'asked-139-0', 21, 1, 1, 0.9588537930255082, false, 'policy', 'unit-4', 1700000138000000, '127cddb6cd056c8f5e6f3d71216c16ba');
INSERT INTO public.varts_decisions VALUES (156, 4, 'asked-140-0', 22, 1, 1, 0.9600885060860417, false, 'policy', 'unit-0', 1700000139000000, '42cbfa6e0cd60345b8f2f747b4fe92c1');
INSERT INTO public.varts_decisions VALUES (157, 4, 'asked-141-0', 23, 1, 1, 0.9634184222859413, false, 'policy', NULL, 1700000140000000, '24ee98fdd277504750c79a37ba1f9cd4');
INSERT INTO public.varts_decisions VALUES (158, 4, 'asked-142-0', 24, 1, 1, 0.9614677252535772, false, 'policy', 'unit-2', 1700000141000000, '543b0249bc691b3bdb9a1acd178148f0');
INSERT INTO public.varts_decisions VALUES (159, 4, 'asked-143-0', 25, 1, 1, 0.9638880917367662, false, 'policy', 'unit-3', 1700000142000000, '5e1a45522a627c85e59bb6e2d5ad5544');
INSERT INTO public.varts_decisions VALUES (160, 5, 'coin-0', 1, 1, 0, 0.5, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (161, 5, 'coin-1', 2, 1, 1, 0.6666666666666666, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (162, 5, 'coin-2', 3, 1, 1, 0.5, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (163, 5, 'coin-3', 4, 1, 1, 0.7, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (164, 5, 'coin-4', 5, 1, 1, 0.8000000000000002, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (165, 5, 'coin-5', 6, 1, 0, 0.28571428571428537, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (166, 5, 'coin-6', 7, 1, 0, 0.4999999999999999, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (167, 5, 'coin-7', 8, 1, 0, 0.6428571428571428, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (168, 5, 'coin-8', 9, 1, 0, 0.7380952380952381, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (169, 5, 'coin-9', 10, 1, 0, 0.608225108225108, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (170, 5, 'coin-10', 11, 1, 1, 0.4999999999999998, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (171, 5, 'coin-11', 12, 1, 0, 0.6165501165501166, false, 'policy', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (172, 6, 'fixed-144-0', 1, 1, 1, 0.5, false, 'forced', NULL, 1700000143000000, NULL);
INSERT INTO public.varts_decisions VALUES (173, 6, 'fixed-145-0', 2, 1, 0, 0.5, false, 'forced', 'unit-0', 1700000144000000, NULL);
INSERT INTO public.varts_decisions VALUES (174, 6, 'fixed-146-0', 3, 1, 1, 0.5, false, 'forced', 'unit-1', 1700000145000000, NULL);
INSERT INTO public.varts_decisions VALUES (175, 6, 'fixed-147-0', 4, 1, 0, 0.5, false, 'forced', NULL, 1700000146000000, NULL);
INSERT INTO public.varts_decisions VALUES (176, 6, 'fixed-148-0', 5, 1, 1, 0.7137721273028694, false, 'policy', 'unit-3', 1700000147000000, NULL);
INSERT INTO public.varts_decisions VALUES (177, 6, 'fixed-149-0', 6, 1, 0, 0.5, false, 'holdout', 'unit-4', 1700000148000000, NULL);
INSERT INTO public.varts_decisions VALUES (178, 6, 'fixed-150-0', 7, 1, 1, 0.6879795040860764, false, 'policy', NULL, 1700000149000000, NULL);
INSERT INTO public.varts_decisions VALUES (179, 6, 'fixed-151-0', 8, 1, 1, 0.8231304525916483, false, 'policy', 'unit-1', 1700000150000000, NULL);
INSERT INTO public.varts_decisions VALUES (180, 6, 'fixed-152-0', 9, 1, 1, 0.8279147727968602, false, 'policy', 'unit-2', 1700000151000000, NULL);
INSERT INTO public.varts_decisions VALUES (181, 6, 'fixed-153-0', 10, 1, 0, 0.12344814501994235, false, 'policy', NULL, 1700000152000000, NULL);
INSERT INTO public.varts_decisions VALUES (182, 6, 'fixed-154-0', 11, 1, 1, 0.5, false, 'holdout', 'unit-4', 1700000153000000, NULL);
INSERT INTO public.varts_decisions VALUES (183, 6, 'fixed-155-0', 12, 1, 1, 0.9478409492914444, false, 'policy', 'unit-0', 1700000154000000, NULL);
INSERT INTO public.varts_decisions VALUES (184, 6, 'fixed-156-0', 13, 1, 1, 0.958152715642218, false, 'policy', NULL, 1700000155000000, NULL);
INSERT INTO public.varts_decisions VALUES (185, 6, 'fixed-157-0', 14, 1, 1, 0.9546706216814319, false, 'policy', 'unit-2', 1700000156000000, NULL);
INSERT INTO public.varts_decisions VALUES (186, 6, 'fixed-158-0', 15, 1, 1, 0.9592971262843436, false, 'policy', 'unit-3', 1700000157000000, NULL);
INSERT INTO public.varts_decisions VALUES (187, 6, 'fixed-159-0', 16, 1, 1, 0.9488677117636249, false, 'policy', NULL, 1700000158000000, NULL);
INSERT INTO public.varts_decisions VALUES (188, 6, 'fixed-160-0', 17, 1, 1, 0.9500774511419757, false, 'policy', 'unit-0', 1700000159000000, NULL);
INSERT INTO public.varts_decisions VALUES (189, 6, 'fixed-161-0', 18, 1, 1, 0.9535526619368585, false, 'policy', 'unit-1', 1700000160000000, NULL);
INSERT INTO public.varts_decisions VALUES (190, 6, 'fixed-162-0', 19, 1, 0, 0.5, false, 'holdout', NULL, 1700000161000000, NULL);
INSERT INTO public.varts_decisions VALUES (191, 6, 'fixed-163-0', 20, 1, 1, 0.9663223967343224, false, 'policy', 'unit-3', 1700000162000000, NULL);
INSERT INTO public.varts_decisions VALUES (193, 6, '0660784ca36faca503f1d0e0e882', 21, 1, 1, 0.9582333907700807, false, 'policy', 'bob', 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (194, 6, '0660784ca36facd30d7d7c34b021', 21, 1, 0, 0.5, false, 'holdout', NULL, 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (192, 6, '0660784ca36fac90044e9f24b5a0', 21, 1, 1, 0.9582333907700807, false, 'policy', 'forgotten:1016b874a578ad597b5e122d4f430a1d', 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (195, 6, 'fixed-164-0', 36, 2, 0, 1, false, 'winner', 'unit-4', 1700000163000000, NULL);
INSERT INTO public.varts_decisions VALUES (196, 6, 'fixed-165-0', 37, 2, 0, 1, false, 'winner', NULL, 1700000164000000, NULL);
INSERT INTO public.varts_decisions VALUES (197, 6, 'fixed-166-0', 38, 2, 0, 1, false, 'winner', 'unit-1', 1700000165000000, NULL);
INSERT INTO public.varts_decisions VALUES (198, 6, 'fixed-167-0', 40, 2, 1, 0.9917265417226925, false, 'policy', 'unit-2', 1700000166000000, NULL);
INSERT INTO public.varts_decisions VALUES (199, 6, 'fixed-168-0', 41, 2, 1, 0.5, false, 'holdout', NULL, 1700000167000000, NULL);
INSERT INTO public.varts_decisions VALUES (200, 6, 'fixed-169-0', 42, 2, 0, 0.5, false, 'holdout', 'unit-4', 1700000168000000, NULL);
INSERT INTO public.varts_decisions VALUES (201, 6, 'fixed-170-0', 43, 2, 1, 0.995429022992763, false, 'policy', 'unit-0', 1700000169000000, NULL);
INSERT INTO public.varts_decisions VALUES (202, 6, 'fixed-171-0', 44, 2, 1, 0.9929958426539969, false, 'policy', NULL, 1700000170000000, NULL);
INSERT INTO public.varts_events VALUES (1, 1, 'create', 1700000000000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 3, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 1221512064919190367, NULL);
INSERT INTO public.varts_events VALUES (1, 2, 'reward', 1700000001000000, 'plain-1-0', 2, 1, 2.82, 2.82, NULL, 7120885531058618824, NULL);
INSERT INTO public.varts_events VALUES (1, 3, 'reward', 1700000002000000, 'plain-2-0', 2, 1, 3.64, 3.64, NULL, 5472848355685837413, NULL);
INSERT INTO public.varts_events VALUES (1, 4, 'reward', 1700000003000000, 'plain-3-0', 1, 1, 1.44, 1.44, NULL, 2601981579060829092, NULL);
INSERT INTO public.varts_events VALUES (1, 5, 'reward', 1700000004000000, 'plain-4-0', 2, 1, 3.26, 3.26, NULL, 5595997385210878048, NULL);
INSERT INTO public.varts_events VALUES (1, 6, 'reward', 1700000005000000, 'plain-5-0', 0, 1, 0.06, 0.06, NULL, 6893301407009261114, NULL);
INSERT INTO public.varts_events VALUES (1, 7, 'reward', 1700000006000000, 'plain-6-0', 2, 1, 2.88, 2.88, NULL, 6393795364816586456, NULL);
INSERT INTO public.varts_events VALUES (1, 8, 'reward', 1700000007000000, 'plain-7-0', 0, 1, 1.7, 1.7, NULL, 1188109388949775996, NULL);
INSERT INTO public.varts_events VALUES (1, 9, 'reward', 1700000008000000, 'plain-8-0', 1, 1, 1.5, 1.5, NULL, 7332277921427582199, NULL);
INSERT INTO public.varts_events VALUES (1, 10, 'reward', 1700000009000000, 'plain-9-0', 2, 1, 3.32, 3.32, NULL, 7448431655195679376, NULL);
INSERT INTO public.varts_events VALUES (1, 11, 'reward', 1700000010000000, 'plain-10-0', 2, 1, 2.12, 2.12, NULL, 421820199719998875, NULL);
INSERT INTO public.varts_events VALUES (1, 12, 'reward', 1700000011000000, 'plain-11-0', 2, 1, 2.94, 2.94, NULL, 2920356711543480340, NULL);
INSERT INTO public.varts_events VALUES (1, 13, 'reward', 1700000012000000, 'plain-12-0', 2, 1, 3.76, 3.76, NULL, 121570754204966980, NULL);
INSERT INTO public.varts_events VALUES (1, 14, 'reward', 1700000013000000, 'plain-13-0', 2, 1, 2.56, 2.56, NULL, 5442594042441747616, NULL);
INSERT INTO public.varts_events VALUES (1, 15, 'reward', 1700000014000000, 'plain-14-0', 2, 1, 3.38, 3.38, NULL, 5635647966475480162, NULL);
INSERT INTO public.varts_events VALUES (1, 16, 'reward', 1700000015000000, 'plain-15-0', 2, 1, 2.18, 2.18, NULL, 8515763547211857532, NULL);
INSERT INTO public.varts_events VALUES (1, 17, 'reward', 1700000016000000, 'plain-16-0', 2, 1, 3, 3, NULL, 2167539899561359884, NULL);
INSERT INTO public.varts_events VALUES (1, 18, 'reward', 1700000017000000, 'plain-17-0', 2, 1, 3.82, 3.82, NULL, 3026800286347897606, NULL);
INSERT INTO public.varts_events VALUES (1, 19, 'reward', 1700000018000000, 'plain-18-0', 2, 1, 2.62, 2.62, NULL, 6244474226715389999, NULL);
INSERT INTO public.varts_events VALUES (1, 20, 'reward', 1700000019000000, 'plain-19-0', 2, 1, 3.44, 3.44, NULL, 38805864944880747, NULL);
INSERT INTO public.varts_events VALUES (1, 21, 'reward', 1700000020000000, 'plain-20-0', 2, 1, 2.24, 2.24, NULL, 3314351273469529358, NULL);
INSERT INTO public.varts_events VALUES (1, 22, 'reward', 1700000021000000, 'plain-21-0', 2, 1, 3.06, 3.06, NULL, 7214377889906357980, NULL);
INSERT INTO public.varts_events VALUES (1, 23, 'reward', 1700000021000000, 'plain-21-1', 2, 1, 3.06, 3.06, NULL, 7214377889906357980, NULL);
INSERT INTO public.varts_events VALUES (1, 24, 'reward', 1700000021000000, 'plain-21-2', 1, 1, 2.06, 2.06, NULL, 7214377889906357980, NULL);
INSERT INTO public.varts_events VALUES (1, 25, 'reward', 1700000021000000, 'plain-21-3', 2, 1, 3.06, 3.06, NULL, 7214377889906357980, NULL);
INSERT INTO public.varts_events VALUES (1, 26, 'reward', 1700000021000000, 'plain-21-4', 2, 1, 3.06, 3.06, NULL, 7214377889906357980, NULL);
INSERT INTO public.varts_events VALUES (1, 27, 'reward', 1700000022000000, 'plain-22-0', 2, 1, 3.88, 3.88, NULL, 4397459175362164171, NULL);
INSERT INTO public.varts_events VALUES (1, 28, 'reward', 1700000022000000, 'plain-22-1', 2, 1, 3.88, 3.88, NULL, 4397459175362164171, NULL);
INSERT INTO public.varts_events VALUES (1, 29, 'reward', 1700000022000000, 'plain-22-2', 2, 1, 3.88, 3.88, NULL, 4397459175362164171, NULL);
INSERT INTO public.varts_events VALUES (1, 30, 'reward', 1700000022000000, 'plain-22-3', 2, 1, 3.88, 3.88, NULL, 4397459175362164171, NULL);
INSERT INTO public.varts_events VALUES (1, 31, 'reward', 1700000022000000, 'plain-22-4', 2, 1, 3.88, 3.88, NULL, 4397459175362164171, NULL);
INSERT INTO public.varts_events VALUES (1, 32, 'reward', 1700000023000000, 'plain-23-0', 2, 1, 2.68, 2.68, NULL, 722946538734495385, NULL);
INSERT INTO public.varts_events VALUES (1, 33, 'reward', 1700000023000000, 'plain-23-1', 2, 1, 2.68, 2.68, NULL, 722946538734495385, NULL);
INSERT INTO public.varts_events VALUES (1, 34, 'reward', 1700000023000000, 'plain-23-2', 2, 1, 2.68, 2.68, NULL, 722946538734495385, NULL);
INSERT INTO public.varts_events VALUES (1, 35, 'reward', 1700000023000000, 'plain-23-3', 2, 1, 2.68, 2.68, NULL, 722946538734495385, NULL);
INSERT INTO public.varts_events VALUES (1, 36, 'reward', 1700000023000000, 'plain-23-4', 2, 1, 2.68, 2.68, NULL, 722946538734495385, NULL);
INSERT INTO public.varts_events VALUES (1, 37, 'reward', 1700000024000000, 'plain-24-0', 2, 1, 3.5, 3.5, NULL, 9069652542131570741, NULL);
INSERT INTO public.varts_events VALUES (1, 38, 'reward', 1700000024000000, 'plain-24-1', 2, 1, 3.5, 3.5, NULL, 9069652542131570741, NULL);
INSERT INTO public.varts_events VALUES (1, 39, 'reward', 1700000024000000, 'plain-24-2', 2, 1, 3.5, 3.5, NULL, 9069652542131570741, NULL);
INSERT INTO public.varts_events VALUES (1, 40, 'reward', 1700000024000000, 'plain-24-3', 2, 1, 3.5, 3.5, NULL, 9069652542131570741, NULL);
INSERT INTO public.varts_events VALUES (1, 41, 'reward', 1700000024000000, 'plain-24-4', 2, 1, 3.5, 3.5, NULL, 9069652542131570741, NULL);
INSERT INTO public.varts_events VALUES (1, 42, 'add-arm', 1700000024000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "dddd", "prior": null}', 8653551855773294017, NULL);
INSERT INTO public.varts_events VALUES (1, 43, 'reward', 1700000025000000, 'plain-25-0', 2, 1, 2.3, 2.3, NULL, 3172669932147012175, NULL);
INSERT INTO public.varts_events VALUES (1, 44, 'reward', 1700000026000000, 'plain-26-0', 2, 1, 3.12, 3.12, NULL, 3659464888538838074, NULL);
INSERT INTO public.varts_events VALUES (1, 45, 'reward', 1700000027000000, 'plain-27-0', 2, 1, 3.94, 3.94, NULL, 6187830669178311382, NULL);
INSERT INTO public.varts_events VALUES (1, 46, 'reward', 1700000028000000, 'plain-28-0', 2, 1, 2.74, 2.74, NULL, 5861781953712866609, NULL);
INSERT INTO public.varts_events VALUES (1, 47, 'reward', 1700000029000000, 'plain-29-0', 2, 1, 3.56, 3.56, NULL, 839222596647557948, NULL);
INSERT INTO public.varts_events VALUES (1, 48, 'reward', 1700000030000000, 'plain-30-0', 2, 1, 2.36, 2.36, NULL, 4536052434590135958, NULL);
INSERT INTO public.varts_events VALUES (1, 49, 'reward', 1700000031000000, 'plain-31-0', 2, 1, 3.18, 3.18, NULL, 7367546563942910325, NULL);
INSERT INTO public.varts_events VALUES (1, 50, 'reward', 1700000032000000, 'plain-32-0', 3, 1, 5, 5, NULL, 3637334451146648151, NULL);
INSERT INTO public.varts_events VALUES (1, 51, 'reward', 1700000033000000, 'plain-33-0', 2, 1, 2.8, 2.8, NULL, 3450443571186927889, NULL);
INSERT INTO public.varts_events VALUES (1, 52, 'pause-arm', 1700000034000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 1017552564472865398, NULL);
INSERT INTO public.varts_events VALUES (1, 53, 'reward', 1700000035000000, 'plain-35-0', 3, 1, 3.42, 3.42, NULL, 3307471295128633284, NULL);
INSERT INTO public.varts_events VALUES (1, 54, 'reward', 1700000036000000, 'plain-36-0', 3, 1, 4.24, 4.24, NULL, 3621092496530285147, NULL);
INSERT INTO public.varts_events VALUES (1, 55, 'reward', 1700000037000000, 'plain-37-0', 3, 1, 3.04, 3.04, NULL, 5203695607385678247, NULL);
INSERT INTO public.varts_events VALUES (1, 56, 'reward', 1700000038000000, 'plain-38-0', 3, 1, 3.86, 3.86, NULL, 1680111643814844817, NULL);
INSERT INTO public.varts_events VALUES (1, 57, 'reward', 1700000039000000, 'plain-39-0', 3, 1, 4.68, 4.68, NULL, 5142235258526657660, NULL);
INSERT INTO public.varts_events VALUES (1, 58, 'resume-arm', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "a"}', 3461071430295069239, NULL);
INSERT INTO public.varts_events VALUES (1, 59, 'configure', 1700000039000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}}', 1721872375320190485, NULL);
INSERT INTO public.varts_events VALUES (1, 60, 'reward', 1700000040000000, 'plain-40-0', 1, 2, 1.48, 1.48, NULL, 9219054632886910909, NULL);
INSERT INTO public.varts_events VALUES (1, 61, 'reward', 1700000041000000, 'plain-41-0', 3, 2, 4.3, 4.3, NULL, 5987656951249886779, NULL);
INSERT INTO public.varts_events VALUES (1, 62, 'reward', 1700000042000000, 'plain-42-0', 3, 2, 3.1, 3.1, NULL, 8134129401337955006, NULL);
INSERT INTO public.varts_events VALUES (1, 63, 'reward', 1700000043000000, 'plain-43-0', 3, 2, 3.92, 3.92, NULL, 2291357260172116195, NULL);
INSERT INTO public.varts_events VALUES (1, 64, 'reward', 1700000044000000, 'plain-44-0', 1, 2, 2.74, 2.74, NULL, 188802172110015460, NULL);
INSERT INTO public.varts_events VALUES (1, 65, 'reward', 1700000045000000, 'plain-45-0', 3, 2, 3.54, 3.54, NULL, 5571682018099317129, NULL);
INSERT INTO public.varts_events VALUES (1, 66, 'reward', 1700000046000000, 'plain-46-0', 2, 2, 3.36, 3.36, NULL, 9164310627354002005, NULL);
INSERT INTO public.varts_events VALUES (1, 67, 'reward', 1700000047000000, 'plain-47-0', 3, 2, 3.16, 3.16, NULL, 8887176501663255487, NULL);
INSERT INTO public.varts_events VALUES (1, 68, 'reward', 1700000048000000, 'plain-48-0', 1, 2, 1.98, 1.98, NULL, 7792203561712890722, NULL);
INSERT INTO public.varts_events VALUES (1, 69, 'reward', 1700000049000000, 'plain-49-0', 3, 2, 4.8, 4.8, NULL, 6371706799769407173, NULL);
INSERT INTO public.varts_events VALUES (2, 1, 'create', 1700000049000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0], "kappa": [2.0, 2.0], "alpha": [3.0, 3.0], "beta": [1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": 2.0, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 902546996916551423, NULL);
INSERT INTO public.varts_events VALUES (2, 2, 'reward', 1700000050000000, 'rich-50-0', 0, 1, 0.6, 0.6, '{"held": false}', 6052825344008270039, NULL);
INSERT INTO public.varts_events VALUES (2, 3, 'reward', 1700000053000000, 'rich-53-0', 0, 1, 1.04, 1.04, '{"held": false}', 4583270667674253555, NULL);
INSERT INTO public.varts_events VALUES (2, 4, 'reward', 1700000054000000, 'rich-54-0', 0, 1, 1.86, 1.86, '{"held": false}', 6375454773703720756, NULL);
INSERT INTO public.varts_events VALUES (2, 5, 'reward', 1700000055000000, 'rich-55-0', 0, 1, 0.66, 0.66, '{"held": false}', 1169635444025930712, NULL);
INSERT INTO public.varts_events VALUES (2, 6, 'missing', 1700000056000000, 'rich-51-0', 0, 1, NULL, 2, '{"held": false}', 8070523265441014831, NULL);
INSERT INTO public.varts_events VALUES (2, 7, 'reward', 1700000056000000, 'rich-56-0', 0, 1, 1.48, 1.48, '{"held": false}', 797751507827248131, NULL);
INSERT INTO public.varts_events VALUES (2, 8, 'missing', 1700000057000000, 'rich-52-0', 0, 1, NULL, 2, '{"held": true}', 3252886769188091460, NULL);
INSERT INTO public.varts_events VALUES (2, 9, 'reward', 1700000057000000, 'rich-57-0', 0, 1, 0.28, 0.28, '{"held": true}', 5414534024828700354, NULL);
INSERT INTO public.varts_events VALUES (2, 10, 'reward', 1700000058000000, 'rich-58-0', 0, 1, 1.1, 1.1, '{"held": false}', 3559611646572159433, NULL);
INSERT INTO public.varts_events VALUES (2, 11, 'reward', 1700000059000000, 'rich-59-0', 0, 1, 1.92, 1.92, '{"held": false}', 1716452881632047210, NULL);
INSERT INTO public.varts_events VALUES (2, 12, 'reward', 1700000060000000, 'rich-60-0', 0, 1, 0.72, 0.72, '{"held": false}', 6432978395980064674, NULL);
INSERT INTO public.varts_events VALUES (2, 13, 'reward', 1700000063000000, 'rich-63-0', 0, 1, 1.16, 1.16, '{"held": false}', 9030213050743687154, NULL);
INSERT INTO public.varts_events VALUES (2, 14, 'reward', 1700000064000000, 'rich-64-0', 0, 1, 1.98, 1.98, '{"held": false}', 7443383441073498864, NULL);
INSERT INTO public.varts_events VALUES (2, 15, 'reward', 1700000065000000, 'rich-65-0', 0, 1, 0.78, 0.78, '{"held": false}', 8010912501722563900, NULL);
INSERT INTO public.varts_events VALUES (2, 16, 'missing', 1700000066000000, 'rich-61-0', 0, 1, NULL, 2, '{"held": false}', 5978367836081916702, NULL);
INSERT INTO public.varts_events VALUES (2, 17, 'reward', 1700000066000000, 'rich-66-0', 0, 1, 1.6, 1.6, '{"held": false}', 9015423594229288183, NULL);
INSERT INTO public.varts_events VALUES (2, 18, 'missing', 1700000067000000, 'rich-62-0', 0, 1, NULL, 2, '{"held": true}', 7124061694949930183, NULL);
INSERT INTO public.varts_events VALUES (2, 19, 'reward', 1700000067000000, 'rich-67-0', 0, 1, 0.4, 0.4, '{"held": true}', 6848815892146812929, NULL);
INSERT INTO public.varts_events VALUES (2, 20, 'reward', 1700000068000000, 'rich-68-0', 0, 1, 1.22, 1.22, '{"held": false}', 6743190499537636143, NULL);
INSERT INTO public.varts_events VALUES (2, 21, 'reward', 1700000069000000, 'rich-69-0', 0, 1, 0.02, 0.02, '{"held": false}', 8750163068582756937, NULL);
INSERT INTO public.varts_events VALUES (2, 22, 'reward', 1700000070000000, 'rich-70-0', 0, 1, 0.84, 0.84, '{"held": false}', 1283508825334233861, NULL);
INSERT INTO public.varts_events VALUES (2, 23, 'reward', 1700000073000000, 'rich-73-0', 0, 1, 1.28, 1.28, '{"held": false}', 8258638673960201556, NULL);
INSERT INTO public.varts_events VALUES (2, 24, 'reward', 1700000074000000, 'rich-74-0', 0, 1, 0.08, 0.08, '{"held": false}', 7633410712409866459, NULL);
INSERT INTO public.varts_events VALUES (2, 25, 'reward', 1700000075000000, 'rich-75-0', 0, 1, 0.9, 0.9, '{"held": false}', 5468780266233215194, NULL);
INSERT INTO public.varts_events VALUES (2, 26, 'missing', 1700000076000000, 'rich-71-0', 0, 1, NULL, 2, '{"held": false}', 845685747607282241, NULL);
INSERT INTO public.varts_events VALUES (2, 27, 'reward', 1700000076000000, 'rich-76-0', 0, 1, 1.72, 1.72, '{"held": false}', 9086106412604153095, NULL);
INSERT INTO public.varts_events VALUES (2, 28, 'missing', 1700000077000000, 'rich-72-0', 0, 1, NULL, 2, '{"held": true}', 306093941211475055, NULL);
INSERT INTO public.varts_events VALUES (2, 29, 'reward', 1700000077000000, 'rich-77-0', 0, 1, 0.52, 0.52, '{"held": true}', 4783002006047663881, NULL);
INSERT INTO public.varts_events VALUES (2, 30, 'reward', 1700000078000000, 'rich-78-0', 0, 1, 1.34, 1.34, '{"held": false}', 4232177980258067666, NULL);
INSERT INTO public.varts_events VALUES (2, 31, 'reward', 1700000079000000, 'rich-79-0', 0, 1, 0.14, 0.14, '{"held": false}', 1972982294714753306, NULL);
INSERT INTO public.varts_events VALUES (2, 32, 'add-arm', 1700000079000000, NULL, NULL, NULL, NULL, NULL, '{"arm": "ccc", "prior": {"mu": 3.0, "kappa": 2.0, "alpha": 3.0, "beta": 1.0}}', 2767783322015162242, NULL);
INSERT INTO public.varts_events VALUES (2, 33, 'reward', 1700000080000000, 'rich-80-0', 0, 1, 0.96, 0.96, '{"held": false}', 1667822131046570730, NULL);
INSERT INTO public.varts_events VALUES (2, 34, 'reward', 1700000081000000, 'rich-81-0', 0, 1, 1.78, 1.78, '{"held": false}', 4997024296624572388, NULL);
INSERT INTO public.varts_events VALUES (2, 35, 'reward', 1700000082000000, 'rich-82-0', 0, 1, 0.58, 0.58, '{"held": true}', 5852113438039940667, NULL);
INSERT INTO public.varts_events VALUES (2, 36, 'reward', 1700000083000000, 'rich-83-0', 0, 1, 1.4, 1.4, '{"held": false}', 1133367823489244015, NULL);
INSERT INTO public.varts_events VALUES (2, 37, 'reward', 1700000084000000, 'rich-84-0', 0, 1, 0.2, 0.2, '{"held": false}', 8515875661178847105, NULL);
INSERT INTO public.varts_events VALUES (2, 38, 'reward', 1700000085000000, 'rich-85-0', 0, 1, 1.02, 1.02, '{"held": false}', 3356691286892595885, NULL);
INSERT INTO public.varts_events VALUES (2, 39, 'reward', 1700000086000000, 'rich-86-0', 0, 1, 1.84, 1.84, '{"held": false}', 8461786439450626219, NULL);
INSERT INTO public.varts_events VALUES (2, 40, 'reward', 1700000087000000, 'rich-87-0', 0, 1, 0.64, 0.64, '{"held": true}', 1835536139957504170, NULL);
INSERT INTO public.varts_events VALUES (2, 41, 'reward', 1700000088000000, 'rich-88-0', 0, 1, 1.46, 1.46, '{"held": false}', 7310764232537026268, NULL);
INSERT INTO public.varts_events VALUES (2, 42, 'reward', 1700000089000000, 'rich-89-0', 0, 1, 0.26, 0.26, '{"held": false}', 808262267520790963, NULL);
INSERT INTO public.varts_events VALUES (2, 43, 'configure', 1700000089000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}}}', 8881721407641030201, NULL);
INSERT INTO public.varts_events VALUES (2, 44, 'reward', 1700000090000000, 'rich-90-0', 0, 2, 1.08, 1.08, '{"held": false}', 5098567359032487662, NULL);
INSERT INTO public.varts_events VALUES (2, 45, 'reward', 1700000091000000, 'rich-91-0', 0, 2, 1.9, 1.9, '{"held": false}', 531277815980423512, NULL);
INSERT INTO public.varts_events VALUES (2, 46, 'reward', 1700000092000000, 'rich-92-0', 0, 2, 0.7, 0.7, '{"held": true}', 5456231034928488542, NULL);
INSERT INTO public.varts_events VALUES (2, 47, 'reward', 1700000093000000, 'rich-93-0', 0, 2, 1.52, 1.52, '{"held": false}', 4163120708861635423, NULL);
INSERT INTO public.varts_events VALUES (2, 48, 'reward', 1700000094000000, 'rich-94-0', 0, 2, 0.32, 0.32, '{"held": false}', 8397641323770611625, NULL);
INSERT INTO public.varts_events VALUES (2, 49, 'reward', 1700000097000000, 'rich-97-0', 0, 2, 0.76, 0.76, '{"held": true}', 4122121067397587332, NULL);
INSERT INTO public.varts_events VALUES (2, 50, 'reward', 1700000098000000, 'rich-98-0', 0, 2, 1.58, 1.58, '{"held": false}', 1385390243737471016, NULL);
INSERT INTO public.varts_events VALUES (2, 51, 'reward', 1700000099000000, 'rich-99-0', 0, 2, 0.38, 0.38, '{"held": false}', 1471969747645304044, NULL);
INSERT INTO public.varts_events VALUES (2, 52, 'expired', 1700000100000000, 'rich-95-0', 0, 2, NULL, NULL, NULL, 60832456885191969, NULL);
INSERT INTO public.varts_events VALUES (2, 53, 'reward', 1700000100000000, 'rich-100-0', 0, 2, 1.2, 1.2, '{"held": false}', 6536341381850256396, NULL);
INSERT INTO public.varts_events VALUES (2, 54, 'expired', 1700000101000000, 'rich-96-0', 0, 2, NULL, NULL, NULL, 8078599552776940016, NULL);
INSERT INTO public.varts_events VALUES (2, 55, 'reward', 1700000101000000, 'rich-101-0', 0, 2, 0, 0, '{"held": false}', 7113269246688752522, NULL);
INSERT INTO public.varts_events VALUES (2, 56, 'reward', 1700000102000000, 'rich-102-0', 0, 2, 0.82, 0.82, '{"held": true}', 1007859043941509187, NULL);
INSERT INTO public.varts_events VALUES (2, 57, 'reward', 1700000103000000, 'rich-103-0', 0, 2, 1.64, 1.64, '{"held": false}', 2984531060399195349, NULL);
INSERT INTO public.varts_events VALUES (2, 58, 'reward', 1700000104000000, 'rich-104-0', 0, 2, 0.44, 0.44, '{"held": false}', 6720245076724955697, NULL);
INSERT INTO public.varts_events VALUES (3, 1, 'create', 1700000104000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 9182359770641420397, NULL);
INSERT INTO public.varts_events VALUES (3, 2, 'reward', 1700000105000000, 'index-105-0', 0, 1, 1.26, 1.26, NULL, 2923832408034613638, NULL);
INSERT INTO public.varts_events VALUES (3, 3, 'reward', 1700000106000000, 'index-106-0', 0, 1, 0.06, 0.06, NULL, 3526066676468148848, NULL);
INSERT INTO public.varts_events VALUES (3, 4, 'reward', 1700000107000000, 'index-107-0', 0, 1, 0.88, 0.88, NULL, 5081679125369964272, NULL);
INSERT INTO public.varts_events VALUES (3, 5, 'reward', 1700000108000000, 'index-108-0', 1, 1, 2.7, 2.7, NULL, 2955234792303190164, NULL);
INSERT INTO public.varts_events VALUES (3, 6, 'reward', 1700000109000000, 'index-109-0', 1, 1, 1.5, 1.5, NULL, 5915015116066946662, NULL);
INSERT INTO public.varts_events VALUES (3, 7, 'reward', 1700000110000000, 'index-110-0', 1, 1, 2.32, 2.32, NULL, 8583701799254091893, NULL);
INSERT INTO public.varts_events VALUES (3, 8, 'reward', 1700000111000000, 'index-111-0', 1, 1, 1.12, 1.12, NULL, 7524123619281196756, NULL);
INSERT INTO public.varts_events VALUES (3, 9, 'reward', 1700000112000000, 'index-112-0', 1, 1, 1.94, 1.94, NULL, 4202906846177974574, NULL);
INSERT INTO public.varts_events VALUES (3, 10, 'reward', 1700000113000000, 'index-113-0', 1, 1, 2.76, 2.76, NULL, 3326373349928512097, NULL);
INSERT INTO public.varts_events VALUES (3, 11, 'reward', 1700000114000000, 'index-114-0', 1, 1, 1.56, 1.56, NULL, 2349809257436394493, NULL);
INSERT INTO public.varts_events VALUES (3, 12, 'reward', 1700000115000000, 'index-115-0', 1, 1, 2.38, 2.38, NULL, 4510470088665004963, NULL);
INSERT INTO public.varts_events VALUES (3, 13, 'reward', 1700000116000000, 'index-116-0', 1, 1, 1.18, 1.18, NULL, 4892377746848808855, NULL);
INSERT INTO public.varts_events VALUES (3, 14, 'stop', 1700000116000000, NULL, NULL, NULL, NULL, NULL, '{"winner": "bb"}', 3589321136604012472, NULL);
INSERT INTO public.varts_events VALUES (3, 15, 'reward', 1700000117000000, 'index-117-0', 1, 1, 2, 2, NULL, 1748144435168868266, NULL);
INSERT INTO public.varts_events VALUES (3, 16, 'reward', 1700000118000000, 'index-118-0', 1, 1, 2.82, 2.82, NULL, 8977344766672665764, NULL);
INSERT INTO public.varts_events VALUES (3, 17, 'reward', 1700000119000000, 'index-119-0', 1, 1, 1.62, 1.62, NULL, 1206889250274635244, NULL);
INSERT INTO public.varts_events VALUES (4, 1, 'create', 1700000119000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 3074834979341118866, NULL);
INSERT INTO public.varts_events VALUES (4, 2, 'reward', 1700000120000000, 'asked-120-0', 1, 1, 2.44, 2.44, NULL, 5478674072425851781, NULL);
INSERT INTO public.varts_events VALUES (4, 3, 'reward', 1700000121000000, 'asked-121-0', 1, 1, 1.24, 1.24, NULL, 996020282028994351, NULL);
INSERT INTO public.varts_events VALUES (4, 4, 'reward', 1700000122000000, 'asked-122-0', 0, 1, 1.06, 1.06, NULL, 1165428588644771097, NULL);
INSERT INTO public.varts_events VALUES (4, 5, 'reward', 1700000123000000, 'asked-123-0', 1, 1, 2.88, 2.88, NULL, 7882016674092620853, NULL);
INSERT INTO public.varts_events VALUES (4, 6, 'reward', 1700000124000000, 'asked-124-0', 1, 1, 1.68, 1.68, NULL, 4272901292877639797, NULL);
INSERT INTO public.varts_events VALUES (4, 7, 'reward', 1700000125000000, 'asked-125-0', 0, 1, 1.5, 1.5, NULL, 4368215887430356031, NULL);
INSERT INTO public.varts_events VALUES (4, 8, 'reward', 1700000126000000, 'asked-126-0', 1, 1, 1.3, 1.3, NULL, 7385937470320727103, NULL);
INSERT INTO public.varts_events VALUES (4, 9, 'reward', 1700000127000000, 'asked-127-0', 1, 1, 2.12, 2.12, NULL, 2256622434613450842, NULL);
INSERT INTO public.varts_events VALUES (4, 10, 'reward', 1700000128000000, 'asked-128-0', 1, 1, 2.94, 2.94, NULL, 1849014018753866383, NULL);
INSERT INTO public.varts_events VALUES (4, 11, 'reward', 1700000129000000, 'asked-129-0', 1, 1, 1.74, 1.74, NULL, 735444769158408059, NULL);
INSERT INTO public.varts_events VALUES (4, 12, 'reward', 1700000130000000, 'asked-130-0', 1, 1, 2.56, 2.56, NULL, 8032036265295298830, NULL);
INSERT INTO public.varts_events VALUES (4, 13, 'reward', 1700000131000000, 'asked-131-0', 1, 1, 1.36, 1.36, NULL, 2258467641110433376, NULL);
INSERT INTO public.varts_events VALUES (4, 14, 'repair', 1700000131000000, NULL, NULL, NULL, NULL, NULL, '{"found": 2, "changed": ["arm 0, epoch 1: n is 3.0 in the statistics, 2.0 in the log", "arm 1, epoch 1: n is 11.0 in the statistics, 10.0 in the log"], "missing": []}', 5300121231912008108, NULL);
INSERT INTO public.varts_events VALUES (4, 15, 'reward', 1700000132000000, 'asked-132-0', 0, 1, 1.18, 1.18, NULL, 307620367149698645, NULL);
INSERT INTO public.varts_events VALUES (4, 16, 'reward', 1700000133000000, 'asked-133-0', 1, 1, 3, 3, NULL, 1547665270620836452, NULL);
INSERT INTO public.varts_events VALUES (4, 17, 'reward', 1700000134000000, 'asked-134-0', 1, 1, 1.8, 1.8, NULL, 3673192115732477312, NULL);
INSERT INTO public.varts_events VALUES (4, 18, 'reward', 1700000135000000, 'asked-135-0', 1, 1, 2.62, 2.62, NULL, 5855505183724596600, NULL);
INSERT INTO public.varts_events VALUES (4, 19, 'reward', 1700000136000000, 'asked-136-0', 1, 1, 1.42, 1.42, NULL, 9120347599522567650, NULL);
INSERT INTO public.varts_events VALUES (4, 20, 'reward', 1700000137000000, 'asked-137-0', 1, 1, 2.24, 2.24, NULL, 3083000184673052415, NULL);
INSERT INTO public.varts_events VALUES (4, 21, 'reward', 1700000138000000, 'asked-138-0', 1, 1, 1.04, 1.04, NULL, 6289236091892353505, NULL);
INSERT INTO public.varts_events VALUES (4, 22, 'reward', 1700000139000000, 'asked-139-0', 1, 1, 1.86, 1.86, NULL, 1024253351167648701, NULL);
INSERT INTO public.varts_events VALUES (4, 23, 'reward', 1700000140000000, 'asked-140-0', 1, 1, 2.68, 2.68, NULL, 273046940950179467, NULL);
INSERT INTO public.varts_events VALUES (4, 24, 'reward', 1700000141000000, 'asked-141-0', 1, 1, 1.48, 1.48, NULL, 8159710319145890701, NULL);
INSERT INTO public.varts_events VALUES (4, 25, 'reward', 1700000142000000, 'asked-142-0', 1, 1, 2.3, 2.3, NULL, 4338400318449002076, NULL);
INSERT INTO public.varts_events VALUES (4, 26, 'reward', 1700000143000000, 'asked-143-0', 1, 1, 1.1, 1.1, NULL, 5325218823236342251, NULL);
INSERT INTO public.varts_events VALUES (5, 1, 'create', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 7865559841900417433, NULL);
INSERT INTO public.varts_events VALUES (5, 2, 'reward', 1700000143000000, 'coin-0', 0, 1, 0, 0, NULL, 2763874925063271164, NULL);
INSERT INTO public.varts_events VALUES (5, 3, 'reward', 1700000143000000, 'coin-1', 1, 1, 0.3333333333333333, 0, NULL, 1597362927498261688, NULL);
INSERT INTO public.varts_events VALUES (5, 4, 'reward', 1700000143000000, 'coin-2', 1, 1, 0.6666666666666666, 1, NULL, 2734453303172611926, NULL);
INSERT INTO public.varts_events VALUES (5, 5, 'reward', 1700000143000000, 'coin-3', 1, 1, 1, 1, NULL, 78465288556304387, NULL);
INSERT INTO public.varts_events VALUES (5, 6, 'reward', 1700000143000000, 'coin-4', 1, 1, 0, 0, NULL, 7255315411147076801, NULL);
INSERT INTO public.varts_events VALUES (5, 7, 'reward', 1700000143000000, 'coin-5', 0, 1, 0.3333333333333333, 1, NULL, 7813480106118470467, NULL);
INSERT INTO public.varts_events VALUES (5, 8, 'reward', 1700000143000000, 'coin-6', 0, 1, 0.6666666666666666, 1, NULL, 7029065040138568567, NULL);
INSERT INTO public.varts_events VALUES (5, 9, 'reward', 1700000143000000, 'coin-7', 0, 1, 1, 1, NULL, 1313212699919053189, NULL);
INSERT INTO public.varts_events VALUES (5, 10, 'reward', 1700000143000000, 'coin-8', 0, 1, 0, 0, NULL, 335672669974880957, NULL);
INSERT INTO public.varts_events VALUES (5, 11, 'reward', 1700000143000000, 'coin-9', 0, 1, 0.3333333333333333, 0, NULL, 969971380961461669, NULL);
INSERT INTO public.varts_events VALUES (5, 12, 'reward', 1700000143000000, 'coin-10', 1, 1, 0.6666666666666666, 0, NULL, 7403460547723796403, NULL);
INSERT INTO public.varts_events VALUES (5, 13, 'reward', 1700000143000000, 'coin-11', 0, 1, 1, 1, NULL, 8692832780932591007, NULL);
INSERT INTO public.varts_events VALUES (5, 14, 'stop', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"winner": null}', 9010366007598934908, NULL);
INSERT INTO public.varts_events VALUES (6, 1, 'create', 1700000143000000, NULL, NULL, NULL, NULL, NULL, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": 30.0, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}', 6750537486985541968, NULL);
INSERT INTO public.varts_events VALUES (6, 2, 'reward', 1700000144000000, 'fixed-144-0', 1, 1, 1.92, 1.92, '{"held": false}', 6346809185317275241, NULL);
INSERT INTO public.varts_events VALUES (6, 3, 'reward', 1700000145000000, 'fixed-145-0', 0, 1, 1.74, 1.74, '{"held": false}', 7784436455330086955, NULL);
INSERT INTO public.varts_events VALUES (6, 4, 'reward', 1700000146000000, 'fixed-146-0', 1, 1, 1.54, 1.54, '{"held": false}', 26585402963237789, NULL);
INSERT INTO public.varts_events VALUES (6, 5, 'reward', 1700000147000000, 'fixed-147-0', 0, 1, 1.36, 1.36, '{"held": false}', 1376430112193786855, NULL);
INSERT INTO public.varts_events VALUES (6, 6, 'reward', 1700000148000000, 'fixed-148-0', 1, 1, 1.16, 1.16, '{"held": false}', 7795021592211308887, NULL);
INSERT INTO public.varts_events VALUES (6, 7, 'reward', 1700000149000000, 'fixed-149-0', 0, 1, 0.98, 0.98, '{"held": true}', 5637768472245330780, NULL);
INSERT INTO public.varts_events VALUES (6, 8, 'reward', 1700000150000000, 'fixed-150-0', 1, 1, 2.8, 2.8, '{"held": false}', 7214322412303501610, NULL);
INSERT INTO public.varts_events VALUES (6, 9, 'reward', 1700000151000000, 'fixed-151-0', 1, 1, 1.6, 1.6, '{"held": false}', 7407111771656821439, NULL);
INSERT INTO public.varts_events VALUES (6, 10, 'reward', 1700000152000000, 'fixed-152-0', 1, 1, 2.42, 2.42, '{"held": false}', 8276873537474385969, NULL);
INSERT INTO public.varts_events VALUES (6, 11, 'reward', 1700000153000000, 'fixed-153-0', 0, 1, 0.22, 0.22, '{"held": false}', 9140239324019304166, NULL);
INSERT INTO public.varts_events VALUES (6, 12, 'reward', 1700000154000000, 'fixed-154-0', 1, 1, 2.04, 2.04, '{"held": true}', 1845065823160805918, NULL);
INSERT INTO public.varts_events VALUES (6, 13, 'reward', 1700000155000000, 'fixed-155-0', 1, 1, 2.86, 2.86, '{"held": false}', 3560455735356891898, NULL);
INSERT INTO public.varts_events VALUES (6, 14, 'reward', 1700000156000000, 'fixed-156-0', 1, 1, 1.66, 1.66, '{"held": false}', 2248846933145105077, NULL);
INSERT INTO public.varts_events VALUES (6, 15, 'reward', 1700000157000000, 'fixed-157-0', 1, 1, 2.48, 2.48, '{"held": false}', 8122196328534924503, NULL);
INSERT INTO public.varts_events VALUES (6, 16, 'reward', 1700000158000000, 'fixed-158-0', 1, 1, 1.28, 1.28, '{"held": false}', 6933368990291698714, NULL);
INSERT INTO public.varts_events VALUES (6, 17, 'reward', 1700000159000000, 'fixed-159-0', 1, 1, 2.1, 2.1, '{"held": false}', 5481955554735250397, NULL);
INSERT INTO public.varts_events VALUES (6, 18, 'reward', 1700000160000000, 'fixed-160-0', 1, 1, 2.92, 2.92, '{"held": false}', 2479000623269495033, NULL);
INSERT INTO public.varts_events VALUES (6, 19, 'reward', 1700000161000000, 'fixed-161-0', 1, 1, 1.72, 1.72, '{"held": false}', 1307195505940673961, NULL);
INSERT INTO public.varts_events VALUES (6, 20, 'reward', 1700000162000000, 'fixed-162-0', 0, 1, 1.54, 1.54, '{"held": true}', 4950431941395055211, NULL);
INSERT INTO public.varts_events VALUES (6, 21, 'reward', 1700000163000000, 'fixed-163-0', 1, 1, 1.34, 1.34, '{"held": false}', 2720238593608788691, NULL);
INSERT INTO public.varts_events VALUES (6, 22, 'reward', 1700000163000000, '0660784ca36fac90044e9f24b5a0', 1, 1, 2, 2, '{"held": false, "metrics": {"refund": 0.0}}', 6522746473292393090, NULL);
INSERT INTO public.varts_events VALUES (6, 23, 'reward', 1700000163000000, '0660784ca36faca503f1d0e0e882', 1, 1, 2000000000, 2000000000, '{"held": false, "metrics": {"refund": 1.0}}', 4460694340536203249, NULL);
INSERT INTO public.varts_events VALUES (6, 24, 'amend', 1700000163000000, NULL, 1, 1, 2.5, 2.5, '{"before": 2000000000.0, "by": "ops", "why": "typed wrong", "held": false, "metrics": {"refund": 0.0}, "metrics_before": {"refund": 1.0}, "number": 22}', 3420967978239524248, '0660784ca36faca503f1d0e0e882');
INSERT INTO public.varts_events VALUES (6, 25, 'void', 1700000163000000, NULL, 1, 1, NULL, NULL, '{"before": 2.0, "why": "our own test", "held": false, "metrics_before": {"refund": 0.0}, "number": 21}', 6033674290790538145, '0660784ca36fac90044e9f24b5a0');
INSERT INTO public.varts_events VALUES (6, 26, 'reward', 1700000163000000, '0660784ca36facd30d7d7c34b021', 0, 1, 3, 3, '{"key": "order 1", "part": 3.0, "held": true}', 2358277551651553039, NULL);
INSERT INTO public.varts_events VALUES (6, 27, 'part', 1700000163000000, NULL, 0, 1, 0, 0, '{"before": 3.0, "key": "refund of order 1", "part": -3.0, "part_metrics": {"refund": 1.0}, "held": true, "metrics": {"refund": 1.0}, "number": 23}', 4318108534508469643, '0660784ca36facd30d7d7c34b021');
INSERT INTO public.varts_events VALUES (6, 28, 'configure', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": [0.0, 2.25], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}}, "by": "ops"}', 6175885458203610681, NULL);
INSERT INTO public.varts_events VALUES (6, 29, 'amend', 1700000163000000, NULL, 1, 1, 2.8, 2.25, '{"before": 2.8, "by": "ops", "held": false}', 6175885458203610681, 'fixed-150-0');
INSERT INTO public.varts_events VALUES (6, 30, 'amend', 1700000163000000, NULL, 1, 1, 2.42, 2.25, '{"before": 2.42, "by": "ops", "held": false}', 6175885458203610681, 'fixed-152-0');
INSERT INTO public.varts_events VALUES (6, 31, 'amend', 1700000163000000, NULL, 1, 1, 2.86, 2.25, '{"before": 2.86, "by": "ops", "held": false}', 6175885458203610681, 'fixed-155-0');
INSERT INTO public.varts_events VALUES (6, 32, 'amend', 1700000163000000, NULL, 1, 1, 2.48, 2.25, '{"before": 2.48, "by": "ops", "held": false}', 6175885458203610681, 'fixed-157-0');
INSERT INTO public.varts_events VALUES (6, 33, 'amend', 1700000163000000, NULL, 1, 1, 2.92, 2.25, '{"before": 2.92, "by": "ops", "held": false}', 6175885458203610681, 'fixed-160-0');
INSERT INTO public.varts_events VALUES (6, 34, 'amend', 1700000163000000, NULL, 1, 1, 2.5, 2.25, '{"before": 2.5, "by": "ops", "held": false, "metrics": {"refund": 0.0}, "metrics_before": {"refund": 0.0}}', 6175885458203610681, '0660784ca36faca503f1d0e0e882');
INSERT INTO public.varts_events VALUES (6, 35, 'forget', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"alias": "forgotten:1016b874a578ad597b5e122d4f430a1d", "decisions": 1}', 5256580439155077564, NULL);
INSERT INTO public.varts_events VALUES (6, 36, 'stop', 1700000163000000, NULL, NULL, NULL, NULL, NULL, '{"winner": "a"}', 4327811974382927333, NULL);
INSERT INTO public.varts_events VALUES (6, 37, 'reward', 1700000164000000, 'fixed-164-0', 0, 2, 1.16, 1.16, NULL, 2760874731403088130, NULL);
INSERT INTO public.varts_events VALUES (6, 38, 'reward', 1700000165000000, 'fixed-165-0', 0, 2, 1.98, 1.98, NULL, 4663139104804592468, NULL);
INSERT INTO public.varts_events VALUES (6, 39, 'reward', 1700000166000000, 'fixed-166-0', 0, 2, 0.78, 0.78, NULL, 669365431986398694, NULL);
INSERT INTO public.varts_events VALUES (6, 40, 'restart', 1700000166000000, NULL, NULL, NULL, NULL, NULL, '{"why": "a new season"}', 5327977333990342670, NULL);
INSERT INTO public.varts_events VALUES (6, 41, 'reward', 1700000167000000, 'fixed-167-0', 1, 2, 2.6, 2.25, '{"held": false}', 240450748836432444, NULL);
INSERT INTO public.varts_events VALUES (6, 42, 'reward', 1700000168000000, 'fixed-168-0', 1, 2, 1.4, 1.4, '{"held": true}', 4818490794593469464, NULL);
INSERT INTO public.varts_events VALUES (6, 43, 'reward', 1700000169000000, 'fixed-169-0', 0, 2, 1.22, 1.22, '{"held": true}', 2329337551329477514, NULL);
INSERT INTO public.varts_events VALUES (6, 44, 'reward', 1700000170000000, 'fixed-170-0', 1, 2, 1.02, 1.02, '{"held": false}', 2781357740565232915, NULL);
INSERT INTO public.varts_events VALUES (6, 45, 'reward', 1700000171000000, 'fixed-171-0', 1, 2, 1.84, 1.84, '{"held": false}', 5586234721998746248, NULL);
INSERT INTO public.varts_experiments VALUES (1, 'plain', 714703234932972468, 1794919657309653, 69, 59, 64, 0, '{"arms": ["a", "bb", "ccc", "dddd"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.1, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": 0.9, "stop_loss": null, "stop_error": 0.05, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 3, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (2, 'rich', 807597630631959406, 1794919657535101, 58, 43, 53, 1700000103000000, '{"arms": ["a", "bb", "ccc"], "options": {"goal": "min", "policy": {"label": "VarTS"}, "prior": {"mu": [1.0, 2.0, 3.0], "kappa": [2.0, 2.0, 2.0], "alpha": [3.0, 3.0, 3.0], "beta": [1.0, 1.0, 1.0]}, "floor": 0.0, "holdout": 0.2, "sticky": true, "clip": [0.0, 2.5], "window": 5.0, "skew": 0.0, "missing": null, "half_life": 20.0, "stop_p_best": null, "stop_loss": 0.01, "stop_error": null, "hash_units": true, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (3, 'index', 7038635141271633071, 1794919657935779, 17, 14, 15, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "UCB1"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": [0.0, 3.0], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": 1, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (4, 'asked', 8504118825154272277, 1794919657990681, 26, 14, 24, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": 60.0, "skew": 3.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": true, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (5, 'coin', 5287839025514949528, 1794919658185873, 14, 14, 12, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "Bernoulli-TS"}, "prior": null, "floor": 0.0, "holdout": 0.0, "sticky": false, "clip": null, "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": [], "guards": {}}, "initial": 2, "epoch": 1, "paused": [], "stopped": true, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_experiments VALUES (6, 'fixed', 1043576516469484646, 1794919658269588, 45, 40, 31, 0, '{"arms": ["a", "bb"], "options": {"goal": "max", "policy": {"label": "VarTS"}, "prior": null, "floor": 0.0, "holdout": 0.3, "sticky": false, "clip": [0.0, 2.25], "window": null, "skew": 0.0, "missing": null, "half_life": null, "stop_p_best": null, "stop_loss": null, "stop_error": null, "hash_units": false, "client_ids": false, "metrics": ["refund"], "guards": {"refund": ["below", 0.1]}}, "initial": 2, "epoch": 2, "paused": [], "stopped": false, "winner": null, "holdout_since": 1}');
INSERT INTO public.varts_schema VALUES ('0004');
INSERT INTO public.varts_statistics VALUES (1, '', 0, 1, 2, 2, 0.82, 1.3447999999999998, 0, 0.9042435199999997, 0.06, 7, 8);
INSERT INTO public.varts_statistics VALUES (1, '', 1, 1, 3, 3, 0.2266666666666667, 0.23386666666666675, 0.044577777777777806, 0.027346808888888904, 1.44, 23, 26);
INSERT INTO public.varts_statistics VALUES (1, '', 2, 1, 43, 43, 0.308372093023256, 11.771386046511624, -0.7486546500811251, 6.338631258418001, 2.82, 49, 51);
INSERT INTO public.varts_statistics VALUES (1, '', 3, 1, 6, 6, -0.9600000000000001, 2.7880000000000003, -0.08927999999999991, 2.16753184, 5, 54, 57);
INSERT INTO public.varts_statistics VALUES (1, '', 2, 2, 1, 1, 0, 0, 0, 0, 3.36, 61, 66);
INSERT INTO public.varts_statistics VALUES (1, '', 1, 2, 3, 3, 0.5866666666666668, 0.8050666666666669, 0.1027057777777779, 0.3240661688888891, 1.48, 63, 68);
INSERT INTO public.varts_statistics VALUES (1, '', 3, 2, 6, 6, -0.4966666666666666, 2.2315333333333323, 0.48169244444444437, 1.468577944444443, 4.3, 64, 69);
INSERT INTO public.varts_statistics VALUES (2, '', 0, 1, 40, 22.01759165491238, 0.4983234592621836, 8.975458365022948, -0.3148371394962563, 6.260185844909247, 0.6, 40, 42);
INSERT INTO public.varts_statistics VALUES (2, 'in the holdout', 0, 0, 11, 11, -1.0272727272727273, 4.586618181818182, 2.508251900826447, 3.7649555493313303, 2, 51, 56);
INSERT INTO public.varts_statistics VALUES (2, '', 0, 2, 13, 10.648285252053515, -0.1508801037134056, 3.4332141334027386, 0.20273119936535122, 2.005968109434243, 1.08, 53, 58);
INSERT INTO public.varts_statistics VALUES (2, 'not in the holdout', 0, 0, 42, 42, 0.529047619047619, 16.128161904761903, -2.779947501133786, 11.825173731460964, 0.6, 53, 58);
INSERT INTO public.varts_statistics VALUES (3, '', 0, 1, 3, 3, -0.5266666666666666, 0.7522666666666666, -0.15603377777777777, 0.28295256888888887, 1.26, 3, 4);
INSERT INTO public.varts_statistics VALUES (3, '', 1, 1, 12, 12, -0.7083333333333336, 4.0243666666666655, 0.023488111111110932, 2.2289490997222217, 2.7, 15, 17);
INSERT INTO public.varts_statistics VALUES (4, '', 0, 1, 3, 3, 0.18666666666666662, 0.10346666666666667, 0.009457777777777784, 0.005352675555555555, 1.06, 13, 15);
INSERT INTO public.varts_statistics VALUES (4, '', 1, 1, 21, 21, -0.4495238095238095, 8.217295238095236, 0.5483020045351472, 5.356149285234853, 2.44, 24, 26);
INSERT INTO public.varts_statistics VALUES (5, '', 1, 1, 5, 5, 0.4, 1.2, 0.24000000000000007, 0.336, 0, 11, 12);
INSERT INTO public.varts_statistics VALUES (5, '', 0, 1, 7, 7, 0.5714285714285714, 1.7142857142857144, -0.24489795918367338, 0.4548104956268222, 0, 12, 13);
INSERT INTO public.varts_statistics VALUES (6, 'not in the holdout', 0, 0, 3, 3, -0.6333333333333333, 1.2514666666666667, -0.4267822222222224, 0.783084408888889, 1.74, 10, 11);
INSERT INTO public.varts_statistics VALUES (6, 'refund', 1, 0, 1, 1, 0, 0, 0, 0, 0, 22, 25);
INSERT INTO public.varts_statistics VALUES (6, 'refund', 0, 0, 1, 1, 0, 0, 0, 0, 1, 23, 27);
INSERT INTO public.varts_statistics VALUES (6, '', 0, 1, 6, 4.587703598677842, -0.829629005826306, 2.1004620908685707, -0.3602575376024567, 1.3163594297750492, 1.74, 23, 34);
INSERT INTO public.varts_statistics VALUES (6, '', 1, 1, 16, 12.505855723279122, -0.0463911205352283, 1.8278245973396858, -0.3321783119416558, 0.4640240686808115, 1.92, 23, 34);
INSERT INTO public.varts_statistics VALUES (6, 'in the holdout', 1, 0, 2, 2, -0.32000000000000006, 0.2048000000000001, 0, 0.020971520000000018, 2.04, 28, 42);
INSERT INTO public.varts_statistics VALUES (6, '', 0, 2, 4, 4, 0.12500000000000006, 0.7579, 0.204687, 0.2986128925, 1.16, 29, 43);
INSERT INTO public.varts_statistics VALUES (6, 'in the holdout', 0, 0, 4, 4, -0.04499999999999997, 1.3235000000000001, -0.5727150000000001, 0.9048452525000003, 0.98, 29, 43);
INSERT INTO public.varts_statistics VALUES (6, '', 1, 2, 4, 4, -0.6225, 0.8534750000000001, 0.014842125000000012, 0.29108140578124997, 2.25, 31, 45);
INSERT INTO public.varts_statistics VALUES (6, 'not in the holdout', 1, 0, 18, 18, -0.09055555555555546, 3.141494444444445, -0.6147631728395061, 1.0138123120318927, 1.92, 31, 45);
INSERT INTO public.varts_units VALUES (2, '0fc904a87253ff072bf08f7c132e5517', 0, 0.9288971470990565, false, 'rich-50-0');
INSERT INTO public.varts_units VALUES (2, 'd9322fdb1e7adca3e1d3cb1b8ae68c93', 0, 0.965495973928485, false, 'rich-51-0');
INSERT INTO public.varts_units VALUES (2, '997853c5e724f7c36107dbe21fee62a8', 0, 0.5, false, 'rich-52-0');
INSERT INTO public.varts_units VALUES (2, '82047323da3d13321d455f28cc22f9a7', 0, 0.965495973928485, false, 'rich-53-0');
INSERT INTO public.varts_units VALUES (2, 'da9123e6ce6ed02ee9a8f3236d1ab0e8', 0, 0.9688053036077952, false, 'rich-54-0');
SELECT pg_catalog.setval('public.varts_decisions_seq_seq', 202, true);
SELECT pg_catalog.setval('public.varts_experiments_id_seq', 6, true);
ALTER TABLE ONLY public.varts_decisions
    ADD CONSTRAINT varts_decisions_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.varts_events
    ADD CONSTRAINT varts_events_pkey PRIMARY KEY (experiment, version);
ALTER TABLE ONLY public.varts_experiments
    ADD CONSTRAINT varts_experiments_name_key UNIQUE (name);
ALTER TABLE ONLY public.varts_experiments
    ADD CONSTRAINT varts_experiments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.varts_schema
    ADD CONSTRAINT varts_schema_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.varts_statistics
    ADD CONSTRAINT varts_statistics_pkey PRIMARY KEY (experiment, metric, arm, epoch);
ALTER TABLE ONLY public.varts_units
    ADD CONSTRAINT varts_units_pkey PRIMARY KEY (experiment, unit);
CREATE UNIQUE INDEX varts_decisions_id ON public.varts_decisions USING btree (experiment, id);
CREATE INDEX varts_decisions_time ON public.varts_decisions USING btree (experiment, "time");
CREATE INDEX varts_events_corrects ON public.varts_events USING btree (experiment, corrects) WHERE (corrects IS NOT NULL);
CREATE UNIQUE INDEX varts_events_decision ON public.varts_events USING btree (experiment, decision);
CREATE INDEX varts_statistics_version ON public.varts_statistics USING btree (experiment, version);
